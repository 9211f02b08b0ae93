"""Which project a folder belongs to, and which paths a caller may name, on real folders and repositories."""

import shutil
import subprocess
from pathlib import Path

import pytest

from backstory.errors import InputError
from backstory.folders import allowed_path, named_project, project_of
from backstory.model.project import Project


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    made = tmp_path / "code" / "shop"
    (made / "src" / "cart").mkdir(parents=True)
    git(made, "init", "--quiet")
    git(made, "commit", "--allow-empty", "--quiet", "-m", "first")
    return made


def test_a_folder_outside_a_repository_is_its_own_project(tmp_path: Path) -> None:
    assert project_of(tmp_path) == Project(str(tmp_path))


def test_a_folder_that_is_gone_is_still_a_project(tmp_path: Path) -> None:
    assert project_of(tmp_path / "gone" / "long ago").name == str(tmp_path / "gone" / "long ago")


def test_a_roundabout_path_leads_to_the_same_project(tmp_path: Path) -> None:
    assert project_of(tmp_path / "a" / ".." / "b") == project_of(tmp_path / "b")


def test_every_folder_of_a_repository_is_one_project(repository: Path) -> None:
    assert project_of(repository / "src" / "cart") == project_of(repository) == Project(str(repository))


def test_all_worktrees_of_a_repository_are_one_project(repository: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "worktrees" / "feature"
    git(repository, "worktree", "add", "--quiet", str(elsewhere))
    (elsewhere / "docs").mkdir()

    assert project_of(elsewhere / "docs") == project_of(repository)


def test_worktrees_of_a_bare_repository_are_one_project(repository: Path, tmp_path: Path) -> None:
    bare = tmp_path / "shop.git"
    git(repository, "clone", "--quiet", "--bare", str(repository), str(bare))
    for name in ("one", "two"):
        git(bare, "worktree", "add", "--quiet", "-b", name, str(tmp_path / name))

    assert project_of(tmp_path / "one") == project_of(tmp_path / "two") == Project(str(bare))


def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "--quiet")
    git(outer, "submodule", "--quiet", "add", str(repository), "parts/shop")

    assert project_of(outer / "parts" / "shop") == Project(str(outer / "parts" / "shop"))


def test_two_repositories_of_one_name_are_two_projects(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "old" / "shop"
    other.mkdir(parents=True)
    git(other, "init", "--quiet")

    assert project_of(other) != project_of(repository)


def test_a_file_may_name_the_project(repository: Path) -> None:
    (repository / ".backstory.toml").write_text('project = "the shop"\n')

    assert project_of(repository / "src" / "cart") == Project("the shop")


def test_the_nearest_file_wins(repository: Path) -> None:
    (repository / ".backstory.toml").write_text('project = "the shop"\n')
    (repository / "src" / ".backstory.toml").write_text('project = "the source"\n')

    assert project_of(repository / "src" / "cart") == Project("the source")


def test_a_worktree_without_the_file_takes_the_name_from_the_main_one(
    repository: Path, tmp_path: Path
) -> None:
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "feature"))
    (repository / ".backstory.toml").write_text('project = "the shop"\n')

    assert project_of(tmp_path / "feature") == Project("the shop")


def test_a_file_above_the_repository_says_nothing_about_it(repository: Path, tmp_path: Path) -> None:
    (tmp_path / ".backstory.toml").write_text('project = "everything"\n')

    assert project_of(repository) == Project(str(repository))


def test_a_file_that_names_nothing_changes_nothing(repository: Path) -> None:
    (repository / ".backstory.toml").write_text("other = 1\n")

    assert project_of(repository) == Project(str(repository))


@pytest.mark.parametrize("broken", ["project = ", "project = 3", 'project = "*"', "\udcff"])
def test_a_broken_file_is_an_error_that_says_what_to_do(tmp_path: Path, broken: str) -> None:
    (tmp_path / ".backstory.toml").write_bytes(broken.encode("utf-8", "surrogateescape"))

    with pytest.raises(InputError) as refused:
        project_of(tmp_path)

    assert refused.value.hint


def test_a_name_is_a_name(tmp_path: Path) -> None:
    assert named_project(" shop ", tmp_path) == Project("shop")


@pytest.mark.parametrize("path", [".", "./", "../cart"])
def test_what_is_written_as_a_path_is_a_folder(repository: Path, path: str) -> None:
    assert named_project(path, repository / "src" / "cart") == project_of(repository)


def test_an_absolute_path_is_a_folder(repository: Path) -> None:
    assert named_project(f"{repository}/src", None) == project_of(repository)


@pytest.mark.parametrize("name", ["", "  ", "*", "a\nb", "~nobody-of-that-name/x"])
def test_what_cannot_be_a_project_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        named_project(name, None)


def test_a_path_below_the_callers_folder_is_allowed(tmp_path: Path) -> None:
    assert allowed_path("docs/spec.md", tmp_path, ()) == tmp_path / "docs" / "spec.md"
    assert allowed_path(str(tmp_path / "docs"), tmp_path, ()) == tmp_path / "docs"
    assert allowed_path(".", tmp_path, ()) == tmp_path


def test_so_is_the_whole_repository_that_the_caller_is_in(repository: Path) -> None:
    assert allowed_path("../../README.md", repository / "src" / "cart", ()) == repository / "README.md"


@pytest.mark.parametrize("path", ["/etc/passwd", "..", "../other", "docs/../../other", "~", "~/notes.md"])
def test_a_path_outside_is_refused_and_the_error_says_how_to_allow_it(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "shop"

    with pytest.raises(InputError, match="outside") as refused:
        allowed_path(path, folder, ())

    assert str(folder) in str(refused.value)
    assert "BACKSTORY_ALLOWED_ROOTS" in str(refused.value.hint)


def test_a_folder_whose_name_only_begins_alike_is_outside(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="outside"):
        allowed_path(str(tmp_path / "shop-secrets" / "a.md"), tmp_path / "shop", ())


def test_a_link_that_leads_out_is_refused_and_one_that_stays_in_is_followed(tmp_path: Path) -> None:
    folder, secrets = tmp_path / "shop", tmp_path / "secrets"
    (folder / "docs").mkdir(parents=True)
    secrets.mkdir()
    (folder / "out").symlink_to(secrets)
    (folder / "in").symlink_to(folder / "docs")

    assert allowed_path("in/spec.md", folder, ()) == folder / "docs" / "spec.md"
    for path in ("out", "out/a.md", "docs/../out/a.md"):
        with pytest.raises(InputError, match="outside"):
            allowed_path(path, folder, ())


def test_the_callers_own_folder_may_be_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "shop")

    assert allowed_path("a.md", tmp_path / "link", ()) == tmp_path / "shop" / "a.md"
    assert allowed_path(str(tmp_path / "shop" / "a.md"), tmp_path / "link", ()) == tmp_path / "shop" / "a.md"


def test_a_link_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    with pytest.raises(InputError):
        allowed_path("loop/a.md", tmp_path, ())


def test_roots_are_allowed_to_everybody_and_nothing_else_is_to_who_has_no_folder(tmp_path: Path) -> None:
    root, other = tmp_path / "documents", tmp_path / "shop"

    for base in (other, None):
        assert allowed_path(str(root / "a.md"), base, [root]) == root / "a.md"
    with pytest.raises(InputError, match="outside"):
        allowed_path(str(root / ".." / "a.md"), None, [root])
    with pytest.raises(InputError, match="may be used: none"):
        allowed_path(str(root), None, ())


@pytest.mark.parametrize("path", ["docs", "./docs", "", "../documents"])
def test_a_relative_path_means_nothing_where_the_callers_folder_is_not_known(
    tmp_path: Path, path: str
) -> None:
    with pytest.raises(InputError, match="relative"):
        allowed_path(path, None, [Path("/"), tmp_path])


def test_a_tilde_is_the_users_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert allowed_path("~/shop/a.md", None, [tmp_path / "shop"]) == tmp_path / "shop" / "a.md"


@pytest.mark.parametrize("path", ["a\0b", "/etc\0/passwd", "~nobody-of-that-name/x"])
def test_what_names_no_file_is_refused_with_what_to_do(tmp_path: Path, path: str) -> None:
    with pytest.raises(InputError) as refused:
        allowed_path(path, tmp_path, ())

    assert refused.value.hint


def test_who_names_a_path_outside_is_told_each_folder_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"may be used: [^,]+$"):
        allowed_path("/elsewhere/notes.md", tmp_path, [tmp_path])
