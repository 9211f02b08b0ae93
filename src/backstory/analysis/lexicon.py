"""Words of software projects in groups: alternatives, things that lie side by side, words for the same.

Data alone: a line or a bar ends a group. `analysis.vocabulary` says what a group means and reads them.
They are English, and what people often choose between; a group is added where a choice was missed.
"""

from typing import Final

#: Each group answers one question. Two words of a group, said of the same thing, exclude one another.
ALTERNATIVES: Final = """
postgresql mysql mariadb sqlite mongodb oracle mssql dynamodb cassandra cockroachdb firestore couchdb duckdb
redis memcached valkey | sendgrid mailgun ses postmark mailchimp | qt gtk wxwidgets electron tauri flutter
etcd zookeeper consul | alpine debian ubuntu fedora distroless | vault dotenv environment
openai anthropic ollama gemini mistral | hibernate jooq mybatis | metal vulkan opengl directx
spi i2c uart usb bluetooth | llvm gcc clang msvc | posthog amplitude mixpanel
keycloak auth0 okta cognito | lodash ramda underscore | chrome firefox safari
sse websocket polling webhook | mkdocs sphinx docusaurus
snowflake bigquery redshift databricks clickhouse | kafka rabbitmq sqs nats pulsar activemq mqtt
celery rq dramatiq sidekiq airflow temporal bull | npm yarn pnpm bun | pip poetry uv pipenv conda pdm
jest vitest mocha jasmine ava | pytest unittest nose | playwright cypress selenium puppeteer
webpack vite rollup esbuild parcel turbopack | react vue svelte angular solid preact ember
redux zustand mobx recoil jotai pinia vuex | django flask fastapi tornado bottle
express fastify koa nestjs hono
python golang rust java kotlin typescript javascript ruby php swift scala elixir haskell zig perl
json yaml toml xml ini protobuf csv msgpack avro parquet | rest graphql grpc soap websocket trpc
aws gcp azure heroku netlify vercel | terraform pulumi cloudformation ansible
kubernetes nomad swarm ecs heroku | docker podman native | github gitlab bitbucket
jenkins circleci travis buildkite github gitlab | cmake bazel meson make ninja | maven gradle sbt
argon2id argon2 bcrypt scrypt pbkdf2 md5 sha1 sha256 | rs256 hs256 es256 eddsa
jwt cookie oauth saml session | sqlalchemy peewee tortoise | prisma typeorm drizzle sequelize knex
alembic flyway liquibase | elasticsearch meilisearch opensearch solr typesense algolia
qdrant pinecone weaviate milvus chroma pgvector | pytorch tensorflow jax
unleash launchdarkly flagsmith growthbook | stripe adyen paypal braintree | black ruff yapf autopep8
eslint biome tslint | mypy pyright pyre | dataclass pydantic attrs namedtuple | tailwind bootstrap bulma
nginx caddy apache traefik haproxy | loki splunk datadog newrelic | s3 gcs minio disk database
vim emacs vscode | linux macos windows | zod yup joi | axios fetch ky | moment dayjs luxon
unity unreal godot | mit apache gpl bsd | monday tuesday wednesday thursday friday saturday sunday
january february march april june july august september october november december
spring summer autumn winter
english german french spanish italian portuguese japanese chinese dutch polish
snake_case camelcase kebab-case pascalcase screaming_snake_case
uuid uuidv4 uuidv7 ulid increment serial snowflake | client server proxy application | eager lazy startup
integer decimal float | merge rebase squash | push poll pull | bottom top end | cursor offset keyset
blue canary rolling | model controller view | cold hot warm | array list tuple dict generator iterator
string integer boolean enum number bytes | numpy google sphinx | exactly least most
bearer basic apikey mtls | cookie header localstorage | thread process coroutine | cpu gpu tpu
fp16 fp32 int8 bf16 | adam sgd adamw | cosine linear euclidean | main master develop trunk
patch minor major | alpha beta stable | bash zsh fish powershell | modal drawer sidebar page
markdown html rst asciidoc
arm x86 | sendmail postfix | onnx tensorrt | cdn nginx | pandas polars | utc local | eu us
british american | tab space | single double | single separate | single own | single multi
share separate | share own | enable disable | optional mandatory | synchronous asynchronous
sequential parallel | sequential concurrent | browser server | device cloud | primary replica | soft hard
short long | short detailed | verbose quiet | verbose silent | ascending descending
alphabetical chronological | public private | naive aware | mutable immutable | mutate copy
manual automatic | hand generate | hand automatic | light dark | monolith microservice | relative absolute
beside separate | escape remove | positional keyword | hold release | lower upper | lower capital
singular plural | allow forbid | left right | oldest newest | raise return | pass fail | succeed fail
accept reject | approve reject | succeed crash | obey ignore | obey bypass | increase decrease
encrypted plain | optimistic pessimistic | incremental full | partial full | affected full
static dynamic | strict lenient | explicit implicit | signed unsigned | interactive unattended
stable unstable | internal external | weak strong | cheap expensive | horizontal vertical
blocking nonblocking | block immediate | central local | callback promise | inheritance composition
monorepo polyrepo | stateless stateful | tls plaintext | online offline | postpone start | postpone begin
early late | open closed | minimal maximal | first last | include exclude | inclusive exclusive
visible hidden | compress uncompress | inner outer | unique duplicate | temporary permanent
fixed variable | compile interpret | buffered unbuffered | cached uncached | allow deny | show hide
lock unlock | omit include | reuse recreate | batch stream | buffer stream | inline extract | notify poll
round truncate | throw swallow | expire survive | pending done | finish pending | merge revert
fix broken | flaky stable | fast slow | eventual strong | nested flat | deep shallow | sparse dense
global local | anonymous authenticated | row column | string epoch | fifo lifo | lru lfu | tcp udp
http https | ipv4 ipv6 | ssh https | morning evening | prefix suffix | crlf lf | latin utf
portrait landscape | metric imperial | celsius fahrenheit | euro dollar | net gross | root unprivileged
cron event | functional class | interface alias | mock real | fake real | memory disk | heap stack
fork spawn | sql nosql | normalized denormalized | embed reference | edge origin | relu gelu | greedy beam
flex grid | serif sans | formal informal | past present | imperative declarative | active passive
upgrade downgrade | anonymous named | default named | wildcard explicit | exact approximate
atomic partial | journaled volatile | chronological random | text binary | json binary | plain json
plain html | draft ready | keep remove | archive remove | true false
"""

#: What a name may be limited to: unit tests are tests, and a staging server is a server.
LIMITS: Final = """
staging production development | unit integration e2e smoke | web mobile desktop ios android
frontend backend | internal external | legacy
"""

#: What is so of one of a group says nothing about another.
SIDE_BY_SIDE: Final = """
python golang rust java kotlin typescript javascript ruby php swift scala yaml markdown sql shell css html
read write | reader writer | import export | importer exporter | upload download | request response
input output | save load | admin administrator member guest owner customer visitor | train inference
"""

#: The first of a group stands for all of it.
SAME: Final = """
keep retain preserve store persist | database db | configuration config | repository repo
postgresql postgres | kubernetes k8s | disable deactivate | enable activate | e2e endtoend | javascript js
typescript ts | mandatory require compulsory | synchronous sync | asynchronous async asyncio | email mail
folder directory | finish complete | remove erase delete drop discard strip purge | change modify edit
large big | show display | fix solve repair | production prod | error exception | function method
send exchange deliver transmit | dependency depend | forbid prohibit ban | allow permit | beside next
page screen | beginning start | authentication auth | environment env | documentation docs | minimum least
maximum most | calculate compute | obey respect
"""
