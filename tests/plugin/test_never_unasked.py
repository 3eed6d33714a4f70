"""A chaos item runs only when `-m` on the command line asks for it, whatever a configuration says."""

import pytest

ALL = ["cpu-limit", "cpu-limit", "marked"]


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("-k", "cpu or marked or fixture"),
        ("experiments/cpu-limit.yaml",),
        ("experiments/cpu-limit.yaml::cpu-limit",),
        ("test_mine.py::test_marked",),
        ("-m", "not chaos"),
        ("-m", "not slow"),
        ("-m", "chaos or not chaos"),
        ("-m", ""),
        ("-k", "-m chaos"),
        ("-o", "addopts=-m chaos"),
        ("-m", "chaos", "-m", "not chaos"),
        ("--chaos-seed", "3", "--chaos-backend", "local"),
    ],
)
def test_not_asked_on_the_command_line(project, args):
    project.run(*args)
    assert project.ran == []


@pytest.mark.parametrize("addopts", ["-m chaos", "-mchaos", "-m 'chaos or slow'"])
def test_addopts_in_the_ini_file_do_not_ask(project, addopts):
    project.pytester.makeini(f"[pytest]\naddopts = {addopts}\n")
    result = project.run()
    assert project.ran == []
    result.stdout.fnmatch_lines(["*chaos items not run: 3; ask for it with -m chaos on the command line*"])


def test_addopts_in_pyproject_do_not_ask(project):
    project.pytester.makepyprojecttoml("[tool.pytest.ini_options]\naddopts = '-m chaos'\n")
    project.run("experiments")
    assert project.ran == []


def test_the_environment_does_not_ask(project, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-m chaos")
    project.run()
    assert project.ran == []


def test_a_conftest_that_sets_the_option_does_not_ask(project):
    project.pytester.makeconftest("def pytest_configure(config):\n    config.option.markexpr = 'chaos'\n")
    project.run()
    assert project.ran == []


def test_a_mark_that_a_conftest_adds_late_counts(project):
    project.pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(items):
            for item in items:
                if item.name == "test_plain":
                    item.add_marker("chaos")
        """
    )
    project.run("test_mine.py").assert_outcomes(deselected=3)


def test_an_item_that_comes_back_is_skipped_with_the_reason(project):
    """Another plugin puts all items back after ours has left some out."""
    project.pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_collection_modifyitems(items):
            everything = list(items)
            yield
            items[:] = everything
        """
    )
    result = project.run("-rs")
    assert project.ran == []
    result.stdout.fnmatch_lines(["*injects a fault and was not asked for*"])


def test_a_fixture_that_is_asked_for_at_run_time_fails(project):
    project.pytester.makepyfile(
        test_late="def test_late(request):\n    request.getfixturevalue('chaos_trial')('cpu-limit')\n"
    )
    result = project.run("test_late.py")
    assert project.ran == []
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*would inject a fault and was not asked for*"])


@pytest.mark.parametrize(
    "args", [("-m", "chaos"), ("-mchaos",), ("-m=chaos",), ("-vm", "chaos"), ("-m", "chaos or slow")]
)
def test_asked(project, args):
    result = project.run(*args)
    result.assert_outcomes(passed=3, deselected=1)
    assert sorted(project.ran) == ALL


def test_the_command_line_beats_addopts(project):
    project.pytester.makeini("[pytest]\naddopts = -m 'not chaos'\n")
    project.run("-m", "chaos")
    assert sorted(project.ran) == ALL


def test_asked_for_some(project):
    project.pytester.makeini("[pytest]\nmarkers = slow: takes its time\n")
    project.pytester.makepyfile(
        test_slow="""
        import pytest

        @pytest.mark.slow
        @pytest.mark.chaos
        def test_both(chaos_trial):
            chaos_trial("cpu-limit")

        @pytest.mark.slow
        def test_slow_alone():
            pass
        """
    )
    project.run("-m", "chaos and slow").assert_outcomes(passed=1, deselected=5)
    assert project.ran == ["cpu-limit"]
    project.run("-m", "slow").assert_outcomes(passed=1, deselected=5)
    assert project.ran == ["cpu-limit"]


def test_a_name_and_the_mark(project):
    project.run("-m", "chaos", "-k", "marked").assert_outcomes(passed=1, deselected=3)
    assert project.ran == ["marked"]


def test_a_bad_expression_is_pytests_own_error(project):
    result = project.run("-m", "chaos and")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert project.ran == []


def test_collecting_runs_nothing(project):
    result = project.run("-m", "chaos", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["experiments/cpu-limit.yaml::cpu-limit"])
    assert project.ran == []


@pytest.mark.parametrize("text", ["", "apiVersoin: chaoslat/v1\nkind: Experiment\n", "other: tool\n"])
def test_a_file_that_does_not_say_that_it_is_ours_is_named_and_not_run(project, text):
    (project.path / "experiments/odd.yaml").write_text(text)
    asked = project.run("-m", "chaos", "experiments")
    asked.stdout.fnmatch_lines(
        ["not an experiment: experiments/odd.yaml (no line `apiVersion: chaoslat/v1`)"]
    )
    assert project.ran == ["cpu-limit"]
    assert "odd.yaml" not in project.run().stdout.str()
