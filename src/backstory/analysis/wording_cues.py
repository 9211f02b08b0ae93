"""The wordings by which decisions, preferences, requirements and conventions are known.

English. Each was written for a way in which people talk to coding agents. No pattern has a wildcard inside a
repetition; on statements of 500 characters made to be slow, the slowest search takes a few milliseconds.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Final


class Voice(IntEnum):
    """Who says something; the later, the less of it is taken at its word."""

    PERSON = 0
    ANSWER = 1  # an agent, to a question
    AGENT = 2


@dataclass(frozen=True, slots=True)
class Cue:
    """A wording, the type that it speaks for, how surely, and the last voice from which it is taken."""

    type: str
    confidence: float
    pattern: re.Pattern[str]
    voice: Voice = Voice.PERSON


def _cue(type_: str, confidence: float, *patterns: str, voice: Voice = Voice.PERSON) -> Cue:
    return Cue(type_, confidence, re.compile("|".join(patterns), re.IGNORECASE), voice)


_preference = partial(_cue, "preference")
_convention = partial(_cue, "code_pattern")
_requirement = partial(_cue, "requirement")
_decision = partial(_cue, "design")

_NOT = r"(?:don't|do not|won't|will not|never|no longer|can't|cannot)"
_CODE = (
    r"(?:handlers?|functions?|methods?|classes|modules?|components?|endpoints?|routes?|routers?|"
    r"controllers?|repositor(?:y|ies)|tests?(?: names?)?|fixtures?|factor(?:y|ies)|migrations?|tables?|"
    r"quer(?:y|ies)|hooks?|flags?|errors?|exceptions?|imports?|files?|folders?|helpers?|variables?|"
    r"constants?|interfaces?|keys?|events?|schemas?|structs?|enums?|scripts?|jobs?|views?|templates?|"
    r"reducers?|selectors?|middlewares?|i/o|(?:log )?calls?|types|arguments?|parameters?|names|packages?|"
    r"commands?|props|resolvers?|serializers?|callbacks?|logs|data fetching)"
)
_HERE = (
    r"(?:in|across|throughout) (?:this|our) (?:\w+ )?(?:code ?base|repo(?:sitory)?|project|package|"
    r"monorepo)"
)
_STYLE = (
    r"(?:quotes|tabs|spaces|indent\w*|semicolons?|type hints|types|docstrings?|comments?|spelling|"
    r"line length|commits|commit messages?|pull requests|prs|early returns?|f-strings|camel ?case|"
    r"snake_case|answers|replies|responses|explanations|summaries|emojis?|abbreviations|protocols?|"
    r"pathlib|dataclasses)"
)
_NAMED = r"(?:\u25a1|(?-i:[A-Z])[\w.+#-]+|\w+\.js\b|\w+(?-i:[A-Z])\w+)"
_TECH = (
    r"(?:\u25a1|\b(?:databases?|tables?|cache\w*|queues?|servers?|services?|api|index(?:es)?|schemas?|"
    r"librar(?:y|ies)|frameworks?|containers?|enums?|tokens?|storage|protocol|format|parser|monolith|"
    r"events?|transactions?|websockets?|polling|workers?|threads?|files?|modules?|middleware|json|csv|"
    r"yaml|sql|rest|graphql|redis|postgres|sqlite|docker|memory|process|disk|env)\b|"
    r"(?-i:(?<=[a-z,;:] )[A-Z][\w.+#-]+))"
)
_CHOOSES = (
    r"(?:use|go (?:with|for|back to)|stick (?:with|to)|stay (?:with|on)|keep|switch|drop|replace|adopt|"
    r"store|move (?!on\b|this|it\b|the (?:button|text|line))|split|avoid|settle|standardi[sz]e|cap|treat|"
    r"have|call|name|rename|migrate|host|self-host|do (?!it\b|that\b|this\b|the\b|a\b|one\b)|make (?!sure|"
    r"a\b)|put (?!it\b)|let|leave out|support|pin|cache|expose|separate|merge|limit|change)"
)
_IS = (
    r"(?:go(?:es)?|must|should|shall|are|is|uses?|returns?|lives?|gets?|ha(?:s|ve)|extends?|inherits?|"
    r"takes?|starts?|ends?|calls?|comes?|throws?|raises?|needs?|follows?|build|sits?|belongs?|stays?|"
    r"reads?|inserts?|imports?|touch(?:es)?|may)"
)
_SUBJECT = (
    r"^(?!(?:you|i|we|it|the|use|let|if|query|there|no)\b)(?:(?!(?:with|of|for|without)\b)[\w'-]+ ){0,3}"
)

PREFERENCES: Final[Sequence[Cue]] = (
    _preference(0.9, r"\bi (?:(?:really|strongly|much|always|generally|usually|would) )*prefer\b"),
    _preference(0.9, r"\bmy (?:preference|preferred|favou?rite)\b"),
    _preference(0.85, r"\bi(?:'d| would) (?:much )?rather\b(?! not\b)"),
    _preference(
        0.8,
        r"\bi (?:(?:really|just) )*(?:hate|dislike|can't stand|love|like|(?:don't|"
        r"do not) like)\b(?! (?:it|this|that|these|those|your|how|what|where|much)\b| the (?:idea|look|"
        r"way|new|result|name))",
    ),
    _preference(
        0.8,
        r"\bi (?:always |never |only |don't )?want (?:you to (?!add\b|make\b|fix\b|write\b)|"
        r"\w+ (?:only|always|never)\b)",
    ),
    _preference(
        0.9,
        r"\b(?:from now on|from here on|going forward|in (?:the )?future|next time|as a rule|in general|"
        r"at all times)\b",
        r"\b(?:whenever|every time|each time|when|before|after) you \w+.*(?:,|\b(?:don't|never|always|"
        r"first)\b)",
    ),
    _preference(0.85, r"^(?:always|never) (?!mind\b)\w+"),
    _preference(
        0.85,
        r"\b(?:please|(?:could|can|would|will) you|you (?:should|must|can)) (?:please )?(?:always|"
        r"never)\b",
    ),
    _preference(
        0.75,
        r"\bwe (?:always|never) (?:deploy|release|merge|commit|push|force|squash|rebase|ship|work)\b",
    ),
    _preference(
        0.7,
        r"^(?:don't|do not|stop|avoid|quit|no more) (?:ever |just )?(?:us(?:e|ing)|add|writ|put|commit|"
        r"push|creat|mock|ask|explain|apologi|summari|import|abbreviat|repeat|run|guess|chang|delet|skip|"
        r"mak|giv|generat)\w*\b(?!.*\b(?:yet|this one|here|now|that file|for now|this time)\b)",
    ),
    _preference(0.8, r"^(?:don't|do not|stop|never)\b.*\b(?:ever|again|any ?more|always)\b"),
    _preference(0.75, rf"^(?:keep|make|leave) (?:your |the |all |my )?{_STYLE}\b"),
    _preference(
        0.75,
        r"^be (?:more )?(?:concise|brief|terse|direct|explicit)\b",
        r"\bkeep it (?:short|brief)\b",
    ),
    _preference(0.75, r"^(?:answer|reply|respond|write|explain)(?: to me)? (?:in|with|without|why)\b"),
    _preference(
        0.75,
        r"\b(?:ask|tell|show|warn|check with) me (?:first|before|whenever|when|every|afterwards)\b",
    ),
    _preference(0.75, r"\bjust do it\b", r"\b(?:no need|don't need|don't have) to ask\b"),
    _preference(0.8, r"\b(?:unless i|without (?:asking|my|telling)|until i (?:say|approve))\b"),
    _preference(0.7, r"(?:^|\bso )(?:give|show|send) me .*\b(?:rather than|instead of|not)\b"),
    _preference(
        0.75,
        rf"\b{_STYLE}\b.*\b(?:everywhere|throughout|in english)\b",
        r"\b(?:british|american) english\b",
    ),
    _preference(0.65, rf"^(?:use|write|prefer)\b(?! the\b).*\b{_STYLE}\b"),
    _preference(0.75, rf"\b{_STYLE} (?:must|should|have to|need to|are always|stay)\b"),
    _preference(0.75, r"^i(?:'m (?:on|using|working)| (?:work|use|run))\b.*\bso\b", r"\bso please\b"),
    _preference(
        0.7,
        r"^(?!you\b|i\b).*\bwhen (?:it's|something(?:'s| is)|i'm|in doubt|unsure|you're)\b",
        r"^leave (?:\w+ )?\w+s alone\b",
    ),
    _preference(0.7, r"\bno [\w-]+ (?:in|for) [\w ]+\bplease\b"),
    _preference(0.85, r"\b(?:where(?:ver)?|whenever|if) (?:you can|possible)\b"),
    _preference(
        0.75,
        r"\bi want it to\b",
        r"\bmy (?:linter|editor|formatter|setup|terminal|shell|machine)\b",
        r"\bno need to (?:wait|confirm|check)\b",
        r"^leave \w+ing to me\b",
    ),
    _preference(
        0.7,
        r"^(?:[\w ]+: )?(?:\w+ )?(?:branches|prs|pull requests|commits|merges|releases|reviews) (?:\w+ )?\w+",
    ),
    _preference(0.75, r"^remember\b(?! when)", r"\bremember (?:that|this) for\b"),
)

CONVENTIONS: Final[Sequence[Cue]] = (
    _convention(
        0.9,
        r"\b(?:the|our|a) (?:convention|idiom|house style|coding standard|pattern)s?\b(?: here|"
        r" in \w+ \w+)? (?:is|are)\b",
        r"\b(?:that's|that is|it's) (?:the|our) (?:convention|pattern|house style)",
        r"\bby convention\b",
        voice=Voice.AGENT,
    ),
    _convention(
        0.85,
        r"\b(?:that|this|it)(?:'s| is| has to be| must be) (?:a|the|our) rule\b(?! from)",
        r"^look at how [\w ]+ (?:does|do)\b.*:",
    ),
    _convention(0.75, rf"(?:^|[,;:] (?:and |but )?)(?:no|every|each) {_CODE} \w+s\b", voice=Voice.ANSWER),
    _convention(
        0.8,
        r"\bfollow(?:s|ing)? the (?:\w+ )?(?:pattern|convention)s? of\b.*:",
        voice=Voice.AGENT,
    ),
    _convention(
        0.85,
        rf"^(?!.*\b(?:there (?:is|are)|i|we need)\b).*\b{_IS}\b.*\b{_HERE}\b",
        rf"^.*\b{_HERE},? (?!there\b|i\b|is\b).*\b{_IS}\b",
        voice=Voice.AGENT,
    ),
    _convention(
        0.8,
        rf"^(?:all|every|each|any|new|no)(?: (?!\d)[\w'-]+){{0,2}} {_CODE}\b.*\b{_IS}\b",
        voice=Voice.ANSWER,
    ),
    _convention(0.75, rf"^(?:any|every)thing (?:that|which|with|in)\b.*\b{_IS}\b", voice=Voice.ANSWER),
    _convention(0.75, rf"{_SUBJECT}{_CODE}\b.*\b(?:always|only|never)\b", voice=Voice.ANSWER),
    _convention(
        0.75,
        rf"{_SUBJECT}{_CODE}\b.*\b(?:go(?:es)? through|(?:is|are) (?:wrapped|declared|named|defined|"
        rf"placed|prefixed|suffixed|injected|"
        r"registered|grouped|sorted|mocked|built)|lives? (?:in|under|next to|beside)|(?:starts?|ends?|"
        r"begins?) with|build their|"
        r"gets? (?:its|their|a|an)|calls? (?:a|an|the|only)|return (?:a|an)|extends?|inherits? from)\b",
        voice=Voice.ANSWER,
    ),
    _convention(
        0.75,
        r"\bwe (?:always |never |only )?(?:log|test|name|mock|import|wrap|validate|format|structure|"
        r"organi[sz]e|(?:don't|never) mix)\b(?=.*\b(?:only|never|always|no|with|in|here|through)\b)",
    ),
)

REQUIREMENTS: Final[Sequence[Cue]] = (
    _requirement(
        0.9,
        r"\bREQ(?:-[A-Z0-9]+)+-\d+\b.*\b(?:says|requires|demands|is)\b",
        r"\bREQ(?:-[A-Z0-9]+)+-\d+:",
        voice=Voice.AGENT,
    ),
    _requirement(
        0.8,
        r"^(?!(?:you|i|we|let|if you|if i|that|find|check|whether|investigate|examine|look|see|explain|"
        r"verify|how|what|which|why|committing|"
        r"do)\b).*(?<!\bthat )(?<!\bwhich )(?<!\bi )(?<!\byou )(?<!\bwe )(?<!\bwould )\b(?:must(?:n't)?|"
        r"shall|ha(?:s|ve) to|needs? to (?:be|work|support|run|handle|keep|survive|stay|answer|show|know|"
        r"allow|scale|accept)|mandatory|(?:is|are) required|not allowed|may not|may only|(?:is|"
        r"are) allowed|can only|required to)\b(?! (?:have been|be said|admit))",
    ),
    _requirement(
        0.75,
        r"\b(?:we|they|customers?|users?|clients?|the (?:product|app|service|system|"
        r"site)) (?:also )?(?:must|need to|have to|needs to|should) (?:also |still |always |"
        r"never )?(?:support|handle|allow|comply|guarantee|be able|offer|survive|accept|see|encrypt|"
        r"delete|keep|log|provide|serve|scale|respond|work)\b",
    ),
    _requirement(
        0.7,
        r"^(?!(?:you|i|we|let|this|that|tests?|the tests?|if you|if i|which|what|why|whether|"
        r"how)\b)(?!.*\b(?:we|you|i) should\b).*\bshould(?:n't)? (?!(?:be|have) (?:fine|ok|good|enough|"
        r"easy|gone|fixed|stored|kept|cached)|pass\b|live in)(?:also |only |never |always |not )?\w+",
    ),
    _requirement(
        0.65,
        r"^(?!(?:i|we|let|it took|add|try|run|sort)\b)(?!.*\b(?:went|took|was|were|passed|ran|down|from|"
        r"it does)\b).*\b(?:within|under|at most|at least|no more than|less than|up to|valid for|"
        r"expires? after|kept for|restored for|maximum|minimum|max|min)(?: \w+)? \d",
    ),
    _requirement(
        0.75,
        rf"\bwe (?:{_NOT}|only) (?:support|allow|store|collect|accept|sell|share|track|log personal)\b",
    ),
    _requirement(
        0.75,
        r"\b(?:rule|requirement|order|request|demand) from\b",
        r"\bhard (?:limit|requirement)\b",
        r"\b(?:they|customers?|clients?|product|legal|marketing|sales|ops|management|(?:the|our) \w+ team) "
        r"(?:also )?(?:wants?|needs?|expects?|insists?|requires?|asked for)\b",
    ),
    _requirement(
        0.65,
        r"^(?:the|an?|users?|rows?|every user|it|they) .*\b(?:never|(?:can't|cannot) \w+ any ?more)\b",
        r"^(?:\w+ )?\w+s never \w+",
    ),
    _requirement(
        0.7,
        r"^(?:[\w ]{1,20}: )?(?:nothing|nobody|no one) (?:(?!is\b|was\b|has\b)\w+s|may|can|must)\b",
        r"\b(?:don't bother with|no need to support)\b",
    ),
    _requirement(
        0.65,
        r"^(?!(?:i|we|let|run|try)\b)(?!.*\b(?:was|were|ran|took)\b).*\b(?:between \d+ and \d+|"
        r"(?:every|each) (?:night|day|hour|week|month|minute|\d+))\b",
    ),
    _requirement(0.7, r"^(?:every|all|each) .*\bneeds? (?:a|an|to)\b"),
)

DECISIONS: Final[Sequence[Cue]] = (
    _decision(
        0.95,
        r"\bwe(?:'ve| have)?(?: all| also| just| now| finally)? (?:decided|agreed|settled|chose|chosen|"
        r"picked|opted)\b",
        r"\bdecision:",
        r"\bthe decision (?:is|was)\b|\b(?:it was|it's) (?:decided|agreed)\b",
        voice=Voice.AGENT,
    ),
    _decision(0.85, rf"\blet(?:'s|s| us) (?:(?:also|just|then|rather|not|only) )*{_CHOOSES}\b"),
    _decision(
        0.8,
        r"\bwe(?:'ll| will| won't| will not|'re going to| are going to|'re not going to| are not going to|"
        r"'re| are)? (?:(?:now|also|only|not) )*(?:use|using|going with|go (?:with|for)|"
        r"stay(?:ing)? (?:with|on)|stick(?:ing)? (?:with|to)|keep(?:ing)?|drop(?:ping)?|switch(?:ing)?|"
        r"mov(?:e|ing) (?:to|from|away)|replac(?:e|ing)|(?:self-)?host(?:ing)?|adopt(?:ing)?|migrat(?:e|"
        r"ing)|store|storing|put(?:ting)?|run on|deploy (?:to|on)|target|build on|rely on|own)\b",
    ),
    _decision(0.65, rf"\b(?:we|you) should (?:\w+ )?{_CHOOSES}\b"),
    _decision(
        0.8,
        r"^(?:just |then )?(?:go (?:with|for) (?!it\b|that\b)|stick (?:with|to)|stay (?:with|"
        r"on)) ?(?!your)",
    ),
    _decision(
        0.7,
        rf"^use (?:(?:a|an|one|plain|only) )?{_NAMED}(?!.*\b(?:tool|task|tags?|search|grep|model|"
        rf"agents?)\b)(?!.* to (?:find|give|search|check|confirm|examine)\b)",
        rf"^(?:keep|store|cache|put|move|replace|split|drop) .*\b(?:in|to|into|with|on|as|for) .*{_TECH}",
        r"^(?:use|keep|replace|drop|switch|store|split|cache|build) .*\b(?:instead of|rather than|anyway|"
        r"because|so that|with one)\b",
    ),
    _decision(0.75, r"\b\w+ it is(?:[,.!]|$)"),
    _decision(
        0.75,
        r"\bI(?:'ve| have)? (?:went|gone|chose|chosen|picked|opted|decided|settled)(?: \w+)? (?:with|for|"
        r"on|to|against|the|a|an|\u25a1|(?-i:[A-Z]))",
        voice=Voice.AGENT,
    ),
    _decision(
        0.65,
        r"\bI(?:'ve| have)? (?:now )?(?:switched|migrated|moved|converted|ported)\b.*\bfrom\b.*\bto\b",
        voice=Voice.AGENT,
    ),
    _decision(
        0.7,
        r"^(?!(?:i|it|this|that|there|if)\b)[\w \u25a1'/-]{2,50}?\b(?:stays?|remains?|go(?:es)? (?:to|"
        r"into)|comes? from|runs? (?:on|in)|(?:is|are) (?:stored|kept|cached|written|sent) (?:in|to|as|"
        r"on)|lives? in|should (?:be (?:stored|kept|cached)|live) in)\b",
    ),
    _decision(0.92, rf"^(?:\w+ )?{_TECH}.{{0,20}} from (?:now|here) on\b"),
    _decision(
        0.65,
        r"^(?!currently\b|you\b|i\b|it\b)(?:[\w-]+: )?(?:\w[\w-]* ){1,5}?only\b",
        r"^(?!currently\b|you\b|i\b|it\b)(?:[\w-]+: )?(?:\w[\w-]* ){0,5}?\w[\w-]*, no \w[\w-]+",
        r"^no (?:\w+ )?\w+ then\b",
        r"^make (?:it|them|this|that) an? [\w-]+(?: [\w-]+)?[.!]?$",
        r"^i'd (?:keep|use|drop|avoid|skip|stay|go)\b",
        r"^use the \w+ (?:one|version|variant|class|way)\b",
    ),
    _decision(
        0.65,
        r"\b(?:in|for) (?:v1|the first version|version one)\b",
        r"\bminimum is\b|\bout of scope\b",
    ),
)

#: All of them; of two that are equally sure the earlier one counts.
CUES: Final[Sequence[Cue]] = (*PREFERENCES, *CONVENTIONS, *REQUIREMENTS, *DECISIONS)
