"""The page as text: complete without its script, obeying nothing but its own, and the same bytes every time."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from dataclasses import replace

import pytest
from page_parts import TRACES, Element, everywhere, parsed, recorded

from kvproto.explain import Page
from kvproto.explain.slice import written
from kvproto.page.basis import bases
from kvproto.page.content import content
from kvproto.page.looks import Looks
from kvproto.page.maps import inside
from kvproto.page.notebook import framed
from kvproto.page.shell import page
from kvproto.replay import replay
from kvproto.report import Link, Replayed, Report, Seen, Span, report
from kvproto.trace import codec
from kvproto.trace.analysis import Analysis, Dot
from kvproto.trace.printable import shown

NAMES = sorted(path.name.removesuffix(codec.SUFFIX) for path in TRACES.glob(f"*{codec.SUFFIX}"))
INCIDENT = "sglang-incident-reads_own_writes"
LATE = "sglang-0.5.19-writes_spare_other_requests"
FAN_OUT = "sglang-0.5.22-fan-out-ranks_agree"
HOSTILE = '</script><img src=x onerror="alert(1)">'


def told(name: str) -> Report:
    return report(recorded(name), sources=True)


def document(*reports: Report) -> Element:
    return parsed(page(reports))


@pytest.mark.parametrize(("verdict", "mood"), [("violated", "bad"), ("holds", "good"), ("inconclusive", "open")])
def test_a_verdict_looks_like_what_it_says(verdict: str, mood: str) -> None:
    mark = document(report(replace(recorded(INCIDENT), verdict=verdict), sources=True)).one("h1").one("span")

    assert (f"mark {mood}", verdict.upper()) == (mark.attributes["class"], mark.text)


def test_a_counterexample_to_induction_is_not_called_a_run() -> None:
    stuck = replace(recorded(INCIDENT), verdict="inconclusive", strength="induction")

    assert "a proof would have to exclude" in document(report(stuck, sources=True)).one("header").text


@pytest.mark.parametrize("name", NAMES)
def test_it_is_complete_without_its_script(name: str) -> None:
    known = told(name)
    trace, article = known.trace, document(known).one("article")

    assert trace.claim in article.one("header").text
    assert trace.property in article.one("h1").text and trace.verdict.upper() in article.one("h1").text
    told_why = ["".join(span.text for span in spans) for spans in (*known.why, *known.whatif)]
    assert told_why == [item.text for item in article.one("section", class_="why").all("li")]
    rows = [row for row in article.one("section", class_="steps").all("tr") if "data-step" in row.attributes]
    assert [str(number) for number in range(len(trace.steps) + 1)] == [row.attributes["data-step"] for row in rows]
    for step, row in zip(trace.steps, rows[1:], strict=True):
        assert " ".join(step.text.split()) in row.text and step.action in row.text and step.loc in row.text
    start = rows[0].one("dl")
    assert [*trace.init] == [part.text for part in start.all("dt")]
    assert [shown(value) for value in trace.init.values()] == [part.text.rstrip("\n") for part in start.all("dd")]


def test_what_needs_the_script_is_hidden() -> None:
    article = document(told(INCIDENT)).one("article")

    for part in ("bar", "live"):
        (element,) = article.all("", class_=part)
        assert "hidden" in element.attributes
    assert not [
        button for button in article.all("button") if button not in article.one("div", class_="bar").all("button")
    ]


@pytest.mark.parametrize("name", [INCIDENT, FAN_OUT])
def test_links_lead_somewhere(name: str) -> None:
    found = document(told(name), told(LATE))
    ids = [element.attributes["id"] for element in found.all() if "id" in element.attributes]
    inner = [link for link in found.all("a") if (link.attributes["href"] or "").startswith("#")]

    assert len(ids) == len(set(ids))
    assert {(link.attributes["href"] or "")[1:] for link in inner} <= set(ids)
    for link in inner:
        number = link.attributes.get("data-step")
        assert number is None or (link.attributes["href"] or "").endswith(f".s{number}")
    for label in found.all():
        assert label.attributes.get("aria-labelledby", ids[0]) in ids


def test_every_step_that_the_why_names_is_linked() -> None:
    known = told(INCIDENT)
    links = document(known).one("section", class_="why").all("a")

    assert [span.step for spans in (*known.why, *known.whatif) for span in spans if span.step is not None] == [
        int(link.attributes["data-step"] or 0) for link in links
    ]


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def test_only_its_own_style_and_script_are_obeyed() -> None:
    found = document(told(INCIDENT), told(LATE))
    (policy,) = [meta for meta in found.all("meta") if meta.has("http_equiv", "Content-Security-Policy")]
    rules = dict(rule.strip().split(" ", 1) for rule in (policy.attributes["content"] or "").split(";"))
    scripts = [script for script in found.all("script") if script.attributes.get("type") != "application/json"]

    assert {
        "default-src": "'none'",
        "style-src": _hash(found.one("style").text),
        "script-src": _hash(scripts[0].text),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    } == rules
    assert len(scripts) == 1
    for element in found.all():
        assert not [name for name in element.attributes if name == "style" or name.startswith("on") or name == "src"]


def test_nothing_is_loaded() -> None:
    known = replace(told(INCIDENT), cites={"attend": (Link("a file", "https://example.org/f"), Link("a book", ""))})
    found = document(known)

    assert ["icon"] == [link.attributes["rel"] for link in found.all("link")]
    assert (found.one("link").attributes["href"] or "").startswith("data:")
    outside = [link for link in found.all("a") if not (link.attributes["href"] or "").startswith("#")]
    assert ["https://example.org/f"] == [link.attributes["href"] for link in outside]
    assert all("noreferrer" in (link.attributes["rel"] or "") for link in outside)
    assert "a book" in found.one("section", class_="sources").text


def test_markup_in_a_trace_is_text() -> None:
    trace = everywhere(recorded(LATE), "A", HOSTILE)
    trace = replace(trace, claim=HOSTILE, property=HOSTILE, why=(HOSTILE,), digest=HOSTILE, analysis=None)
    found = document(report(trace))

    assert [] == found.all("img")
    assert HOSTILE in found.one("h1").text
    assert [HOSTILE] == [item.text for item in found.one("section", class_="why").all("li")]
    data = found.one("script", id="report-1").text
    assert not set("<>&") & set(data)
    assert HOSTILE in json.loads(data)["requests"]


def test_what_would_turn_text_round_is_shown() -> None:
    trace = replace(recorded(LATE), claim="safe \u202eetirw\u202c", why=("a\u2028b",))
    text = page([report(trace)])

    assert "safe \\u202eetirw\\u202c" in text
    assert "a\\u2028b" in text
    assert not {"\u202e", "\u2028"} & set(text)


def test_the_same_traces_give_the_same_bytes() -> None:
    assert page([told(INCIDENT), told(LATE)]) == page([told(INCIDENT), told(LATE)])


def test_the_page_of_the_incident_is_small() -> None:
    assert len(page([told(INCIDENT)]).encode()) < 150_000


def test_excerpts_mark_guards() -> None:
    known = told(INCIDENT)
    sources = document(known).one("section", class_="sources")

    assert {row.action for row in known.rows} == {div.attributes["data-action"] for div in sources.all("div")}
    for name, excerpt in known.excerpts.items():
        (div,) = sources.all("div", data_action=name)
        lines = [line for part in div.all("mark") for line in part.text.split("\n")]
        texts = dict(enumerate(excerpt.lines, excerpt.first))
        assert [f"{number}  {texts[number]}" for number in excerpt.guards] == [line.lstrip() for line in lines]
        shown_lines = div.one("pre").text.split("\n") if div.all("mark") else []
        assert not shown_lines or shown_lines[0].lstrip().startswith(f"{excerpt.at}  ")


@pytest.mark.parametrize("name", [INCIDENT, LATE, FAN_OUT])
def test_the_script_finds_a_drawing_for_every_cell(name: str) -> None:
    known = told(name)
    looks = Looks(known)
    found = parsed(looks.template()).one("svg").inside
    data = content(known, 1, name).data

    for pool, numbers in zip(known.pools, data["looks"], strict=True):  # type: ignore[call-overload]
        for history, places in zip(pool.cells, numbers, strict=True):
            for cell, place in zip(history, places, strict=True):
                assert place == looks.number(cell)
                drawn = parsed(inside(known.requests, "", cell)).inside
                assert drawn == found[place].inside
    assert len(found) == len({str(element) for element in found})


def test_traces_of_one_story_stand_together() -> None:
    names = [LATE, INCIDENT, "outline-incident-reads_own_writes", "outline-0.5.19-reads_own_writes"]
    found = parsed(page([report(recorded(name)) for name in names], names=names))
    clusters = found.one("nav", id="traces").all("li", class_="cluster")

    listed = [[link.text for link in cluster.all("a")] for cluster in clusters]
    assert [[LATE], [INCIDENT], names[2:]] == listed
    assert [f"#t{number}" for number in (1, 2, 3, 4)] == [
        link.attributes["href"] for c in clusters for link in c.all("a")
    ]
    assert ["t1", "t2", "t3", "t4"] == [article.attributes["id"] for article in found.all("article")]
    assert [] == document(told(INCIDENT)).all("nav")


def test_a_replay_that_agrees() -> None:
    trace = recorded("outline-incident-reads_own_writes")
    section = document(report(trace, replayed=replay(trace))).one("section", class_="replayed")

    assert (
        f"It performed {len(trace.steps)} of {len(trace.steps)} steps, and every state was the model's." in section.text
    )
    assert [] == section.all("tr", class_="differs")
    pages = [f"{pool.name}/{label}" for pool in trace.vocabulary.pools for label in pool.pages]
    shown_pages = [row.attributes["data-page"] for row in section.all("tr") if "data-page" in row.attributes]
    assert shown_pages and set(shown_pages) <= set(pages)


def test_a_replay_that_parts_from_the_model() -> None:
    known = report(recorded(LATE))
    pool = known.pools[-1].name
    seen = (Seen(Page(pool, "0"), "[B page 0]", False), Seen(Page(pool, "1"), "....", True))
    parted = Replayed(
        "reference implementation", 2, 3, "step 3: d_content differs", ((), (), (), seen), ("A: waiting",)
    )
    section = document(replace(known, replayed=parted)).one("section", class_="replayed")

    assert "Model and implementation part at step 3: step 3: d_content differs." in section.text
    assert "#t1.s3" == section.one("p", class_="parted").one("a").attributes["href"]
    (odd,) = section.all("tr", class_="differs")
    assert f"{pool}/0" == odd.attributes["data-page"] and "[B page 0]" in odd.text and "NO" in odd.text
    assert "after step 3" in section.one("caption").text and "A: waiting" in section.text


def test_what_would_have_been() -> None:
    spans = (Span("Without "), Span("step 2", 2), Span(" it would hold."))
    known = replace(told(INCIDENT), whatif=(spans,))
    section = document(known).one("details", class_="whatif")

    assert "open" in section.attributes
    assert "Without step 2 it would hold." in section.text
    assert "#t1.s2" == section.one("a").attributes["href"]


def test_the_script_knows_the_changes_that_the_violation_rests_on() -> None:
    harmless = Dot(3, "req[A].decode", "READY", "IDLE", "harmless", 17)
    refused = Dot(4, "clock", 1, 0, "refused", 9, "x > 0")
    trace = replace(recorded(INCIDENT), analysis=Analysis(dots=(harmless, refused)))

    expected = [[3, "req[A].decode", "the claim would hold"], [4, "clock", "step 9 could not happen"]]
    assert expected == content(report(trace), 1, "").data["dots"]
    assert [] == content(report(replace(trace, analysis=None)), 1, "").data["dots"]


@pytest.mark.parametrize("name", [INCIDENT, FAN_OUT])
def test_the_script_knows_what_every_step_went_by(name: str) -> None:
    trace = recorded(name)
    paths = list(trace.init)

    for number, (step, (set_by, others)) in enumerate(zip(trace.steps, bases(trace), strict=True), 1):
        reads = list(dict.fromkeys(step.reads))
        assert [path for path in reads if path in {paths[place] for place, _ in set_by}] == [
            paths[p] for p, _ in set_by
        ]
        assert len(reads) == len(set_by) + others
        for place, source in set_by:
            later = [n for n in range(source + 1, number) if paths[place] in written(trace.steps[n - 1])]
            assert paths[place] in written(trace.steps[source - 1]) and [] == later and source < number
    assert any(set_by for set_by, _ in bases(trace))


def test_a_run_without_steps() -> None:
    trace = replace(recorded(INCIDENT), steps=(), why=("It begins so.",), blame=(), loop=None, analysis=None)
    found = document(report(trace))

    assert ["0"] == [row.attributes["data-step"] for row in found.all("tr") if "data-step" in row.attributes]


def test_a_trace_in_a_notebook() -> None:
    trace = recorded(INCIDENT)
    markup = trace._repr_html_()
    frame = parsed(markup).one("iframe")

    assert framed(trace) == markup
    assert "allow-scripts" == frame.attributes["sandbox"]
    assert page([report(trace, verbs=(), sources=True)]) == frame.attributes["srcdoc"]
    assert html.escape("</script>") in markup and "</script>" not in markup
