"""How every command ends: usage errors and Ctrl-C."""

from labeling.management.commands import merge


def test_options_that_do_not_go_together_are_one_sentence_and_status_2(shell):
    status, out, err = shell("score", "wsol", "--metadata", "nowhere")

    assert (status, out) == (2, "")
    assert err == "give --scoremaps DIR or --baseline center-gaussian, one of them\n"


def test_what_is_stopped_by_hand_says_so_and_shows_no_traceback(shell, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(merge.Command, "action", interrupted)

    status, out, err = shell("merge", "a.png", "b.png")

    assert (status, out, err) == (130, "", "stopped\n")
