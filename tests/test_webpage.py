"""`report`: one page that holds every service, read without scripts or a network, and looked at in a real browser."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import struct
import subprocess
import zlib
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from attrs import evolve

from checkouts import FP8, REPOSITORY, SHORT, STORY, Checkout, Done, checkout, run, run_apart
from compiler.catalog import FolderReader, open_catalog
from compiler.diagnostics import error, unpadded
from compiler.inputs import Inputs
from compiler.judged import Checked, Judged, Verdict
from compiler.language.load import DiskReader
from compiler.pipeline import check_profiles
from compiler.quoting.markup import markup_prose, markup_whole
from compiler.ranges import Range
from compiler.remedy.replanning import Replanner
from compiler.webpage import sweep
from compiler.webpage.chart import BOTTOM, LEFT, TOP, Series, chart
from compiler.webpage.standings import standings
from deployments import only_plan


BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
VOID = {"meta", "input", "br", "link", "hr", "img"}


class Reading(HTMLParser):
    """Open tags, ids, links, and text of a page; tags that do not close in order are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An opening tag, with its id and links."""
        named = dict(attrs)
        self.tags.append(tag)
        self.ids += [named["id"] or ""] if "id" in named else []
        self.links += [named[key] or "" for key in ("href", "src") if key in named]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag that is open and closed at once."""
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """A closing tag."""
        if not self.open or self.open[-1] != tag:
            self.wrong.append(tag)
        else:
            self.open.pop()


def report(folder: Path, *words: str) -> Done:
    return run("report", *words, here=folder)


@pytest.fixture(scope="module")
def page() -> str:
    """The report of this repository."""
    made = report(REPOSITORY)
    assert made.code == 0, made.err
    return made.out


def reading(page: str) -> Reading:
    parsed = Reading()
    parsed.feed(page)
    return parsed


def test_every_tag_closes_and_every_id_is_one(page: str) -> None:
    """The page is well formed, its ids are its own, and its links lead to them."""
    parsed = reading(page)
    assert (parsed.wrong, parsed.open) == ([], [])
    assert len(parsed.ids) == len(set(parsed.ids))
    assert {each.removeprefix("#") for each in parsed.links} <= set(parsed.ids)


def test_nothing_is_fetched(page: str) -> None:
    """No address of anywhere is in it but the name of SVG, and its policy lets nothing in."""
    assert "default-src 'none'" in page
    assert set(re.findall(r"https?://[^\"' <]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\((?!#)", page)


def test_all_services_are_there_without_scripts(page: str) -> None:
    """Names, verdicts, pools, budgets, and the bounds of the charts are text of the page itself."""
    still = re.sub(r"<script>.*</script>", "", page, flags=re.DOTALL)
    for name in (STORY, SHORT, FP8):
        assert f">{name}<" in still
    assert "205,793 (205,487 to 216,411)" in still
    assert "reserve-uncertain" in still
    assert "captured graphs" in still


def test_it_can_be_read_aloud(page: str) -> None:
    """Drawings have names, tables have heads with a scope, and the language is given."""
    assert '<html lang="en">' in page
    assert all("aria-" in each for each in re.findall(r"<svg [^>]*>", page))
    assert all("scope=" in each for each in re.findall(r"<th[ >][^>]*>", page))


@pytest.mark.parametrize("name", [STORY, SHORT])
def test_a_sweep_leaves_out_what_is_straight(name: str) -> None:
    """Between two points everything lies on the line between them, as planning there shows; and they are few."""
    inputs = Inputs(
        reader=DiskReader(REPOSITORY / "profiles"),
        catalog=open_catalog(FolderReader(REPOSITORY / "profiles")),
    )
    plan = only_plan(check_profiles([name], inputs))
    replan = Replanner(plan=plan, catalog=inputs.catalog)
    points = sweep(plan, weigh=replan.balance).by_fraction
    assert len(points) <= 12
    for low, high in pairwise(points):
        at = (low.at + high.at) / 2
        changed = evolve(plan.profile, memory=evolve(plan.profile.memory, fraction=at))
        memory = replan(changed).memory
        assert memory is not None
        between = (low.pool_tokens.best + high.pool_tokens.best) / 2
        assert memory.pool.tokens.best == pytest.approx(between, rel=0.02)


def test_the_same_tree_gives_the_same_page(page: str) -> None:
    """Two runs give the same bytes, one of them in a process of its own."""
    assert run_apart("report", here=REPOSITORY).out == page


def test_a_refused_service_is_shown_as_one(tmp_path: Path) -> None:
    """The page is written all the same, and the exit says that a promise does not hold."""
    tree: Checkout = checkout(tmp_path / "tree")
    path = tree.profile(STORY)
    path.write_text(path.read_text().replace("context = 200_000", "context = 260_000"))
    made = report(tree.root, "-o", "page.html")
    assert made.code == 1
    text = (tree.root / "page.html").read_text()
    assert '<td class="verdict refused">refused</td>' in text
    assert "pool-too-small" in text
    assert "error[pool-too-small]" in made.err
    assert re.search(rf"^{STORY} on ct200 +refused +pool ", made.err, re.MULTILINE)


@pytest.fixture(scope="module")
def clashing(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of a tree in which two services that pass want the same GPUs and one port, and a third is elsewhere."""
    tree = checkout(tmp_path_factory.mktemp("clashing") / "tree")
    for name in (FP8, SHORT):
        tree.profile(name).unlink()
    text = tree.profile(STORY).read_text()
    tree.write("beside", text.replace("[targets.ct200]", '[targets.ct200]\nunit = "beside"'))
    tree.write("elsewhere", text.replace("[targets.ct200]", "[targets.ct201]"))
    made = report(tree.root, "-o", "page.html")
    assert made.code == 1
    return (tree.root / "page.html").read_text()


def test_what_stands_between_services_is_shown(clashing: str) -> None:
    """Services that pass alone are refused in their rows, in the counts, and above all rows, as text of the page."""
    still = re.sub(r"<script>.*</script>", "", clashing, flags=re.DOTALL)
    assert reading(clashing).wrong == []
    assert "2 refused, 1 uncertain." in still
    assert "Refused by gpu-overcommitted and port-clash" in still
    assert still.count('<td class="verdict refused">refused <small>by gpu-overcommitted') == 2
    assert '<td class="verdict uncertain">uncertain</td>' in still
    above, _, below = still.partition("<table data-services>")
    assert "both listen on port 30000" in above
    assert below.count("<code>port-clash</code>") == 2


def test_what_is_refused_beside_others_is_found_by_the_filter(
    clashing: str, tmp_path: Path
) -> None:
    """In a real browser a code between services leaves the rows of those that it refuses."""
    file = tmp_path / "page.html"
    person = PERSON.replace("uncertain 0.5.11", "port-clash")
    file.write_text(clashing.replace("</body>", person))
    title = re.search(r"<title>(\{.*?\})</title>", browsed(file, "--dump-dom"))
    assert title is not None
    seen = json.loads(html.unescape(title[1]))
    assert set(seen["all"]) == {"beside", "elsewhere", STORY}
    assert set(seen["filtered"]) == {"beside", STORY}


def test_a_service_of_two_hosts_is_refused_on_the_one_that_is_named() -> None:
    """A finding on one host leaves the same profile on another host as it is."""
    between = (("a", "one"), ("b", "one"))
    shared = error("port-clash", "these two listen on one port", between=between)
    judged = tuple(
        Judged(profile_name=name, target_name=host, verdict=Verdict.PASS, plan=None, diagnostics=())
        for name, host in (("a", "one"), ("a", "two"), ("b", "one"), ("c", "one"))
    )
    words = [each.word for each in standings(Checked(judged=judged, diagnostics=(shared,)))]
    assert words == ["refused", "pass", "refused", "pass"]


def test_a_finding_has_what_mends_it(page: str) -> None:
    """The page shows what would change a verdict, as PLAN.md does, line by line."""
    review = (REPOSITORY / "out" / STORY / "PLAN.md").read_text("utf-8")
    block = re.search(r"What would change the verdict:\n\n````text\n(.*?)\n````", review, re.DOTALL)
    assert block is not None
    for line in block[1].splitlines():
        assert f"<p>{markup_prose(unpadded(line))}</p>" in page


def test_prose_of_the_page_has_code_and_no_columns(page: str) -> None:
    """What stands in backticks is code there, and nothing is padded to columns, which would not line up."""
    prose = re.sub(r"<(script|style|pre|svg)\b.*?</\1>", "", page, flags=re.DOTALL)
    assert [
        line for line in prose.splitlines() if "`" in line or re.search(r"\S {2,}\S", line)
    ] == []
    assert markup_prose("set `a < b` or `c`") == "set <code>a &lt; b</code> or <code>c</code>"
    assert markup_prose("one ` alone & ``") == "one ` alone &amp; ``"


@pytest.mark.parametrize("name", [STORY, SHORT, FP8])
def test_what_a_plan_rests_on_is_shown(page: str, name: str) -> None:
    """What PLAN.md takes for granted, what it does not know of a token, and the reserve's margin are there, without scripts."""
    review = (REPOSITORY / "out" / name / "PLAN.md").read_text("utf-8")
    folded = folded_text(page, name)
    for head in ("Taken for granted", "Which of these a token costs is not known:"):
        listed = re.search(rf"{re.escape(head)}\n\n((?:- .*\n)+)", review)
        assert listed is not None
        _, _, below = folded.partition(head)
        told = re.findall(r"- (.*)\n", listed[1])
        assert [each for each in told if each.replace("`", "") not in below.replace("`", "")] == []
    (margin,) = re.findall(r"The reserve's margin, .*", review)
    assert margin in folded
    assert "left beside weights and pool" in folded


def test_what_was_accepted_is_shown_with_its_reason(tmp_path: Path) -> None:
    """An accepted finding stands with its reason, as in PLAN.md; what has a secret's form in it does not."""
    tree = checkout(tmp_path / "tree")
    path = tree.profile(STORY)
    secret = "sk-proj-0123456789abcdef0123456789abcdef"
    reason = f'reserve-uncertain = "seen to hold <twice>, with {secret}"'
    path.write_text(f"{path.read_text()}\n[accept]\n{reason}\n")
    folded = folded_text(report(tree.root, STORY).out, STORY)
    assert re.search(r"Accepted\s+reserve-uncertain: seen to hold <twice>, with ", folded)
    assert secret not in folded


def folded_text(page: str, name: str) -> str:
    """What a reader without scripts sees when a service is unfolded."""
    still = re.sub(r"<script>.*</script>", "", page, flags=re.DOTALL)
    (block,) = (
        each
        for each in re.findall(r"<details id=\"service-.*?</details>", still, re.DOTALL)
        if f"<h2>{name}</h2>" in each
    )
    return html.unescape(re.sub(r"<[^>]+>", "", block))


def test_columns_are_sorted_by_whole_numbers(page: str) -> None:
    """A pool of more than a million tokens is sorted by all its digits."""
    orders = re.findall(r'data-order="([^"]*)"', page)
    assert orders
    assert not any("e" in each for each in orders)


def test_names_of_profiles_stay_text(tmp_path: Path) -> None:
    """What a profile says is never markup."""
    tree = checkout(tmp_path / "tree")
    path = tree.profile(STORY)
    text = path.read_text().replace(
        "[serve]", '[model]\nserved_name = "<img src=x onerror=alert(1)>"\n\n[serve]', 1
    )
    path.write_text(text)
    made = report(tree.root, STORY)
    assert "<img" not in made.out


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    """A page that cannot be written ends with the exit of the machine, and leaves nothing."""
    made = report(REPOSITORY, "-o", str(tmp_path / "none" / "page.html"))
    assert made.code == 5
    assert "cannot be written" in made.err
    assert list(tmp_path.iterdir()) == []


def test_a_chart_lies_in_its_frame() -> None:
    """Every corner is inside, and one place alone is no chart."""
    points = tuple((at / 10, Range(at - 1, at, at + 2)) for at in range(1, 9))
    made = chart(
        "x",
        (Series(name="a", kind="have", points=points),),
        own=0.3,
        across=str,
        upwards=str,
    )
    assert made is not None
    corners = [tuple(map(float, each.split(","))) for each in made.lines[0].band.split(" ")]
    assert all(x >= LEFT and TOP <= y <= BOTTOM for x, y in corners)
    alone = (Series(name="a", kind="have", points=points[:1]),)
    assert chart("x", alone, own=0.1, across=str, upwards=str) is None


def test_only_drawings_are_set_in_whole() -> None:
    """The one encoder that passes markup takes nothing but a drawing."""
    with pytest.raises(ValueError, match="no drawing"):
        markup_whole("<script>alert(1)</script>")


# --- in a browser --------------------------------------------------------------------------------


def browsed(page: Path, *options: str) -> str:
    """What a headless Chromium makes of a page: its document after scripts ran."""
    if BROWSER is None:
        if os.environ.get("POOLPROOF_NEEDS_CHROMIUM"):
            pytest.fail("there is no Chromium, and it was asked for")
        pytest.skip("there is no Chromium here")
    made = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=3000",
            *options,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return made.stdout


# Types into the filter and clicks a head, as a person would, and leaves what is seen in the page's title.
PERSON = """<script>
const seen = () => [...document.querySelectorAll("table[data-services] tbody tr")].filter((row) => row.checkVisibility()).map((row) => row.cells[0].textContent);
const box = document.querySelector("input");
const all = seen();
document.querySelectorAll("table[data-services] th button")[7].click();
const sorted = seen();
document.querySelectorAll("table[data-services] th button")[7].click();
const backwards = seen();
box.value = "uncertain 0.5.11"; box.dispatchEvent(new Event("input"));
const filtered = seen();
document.title = JSON.stringify({all, sorted, backwards, filtered, said: document.querySelector("[role=status]").textContent});
</script></body>"""


def test_rows_are_filtered_and_sorted(page: str, tmp_path: Path) -> None:
    """In a real browser the filter hides rows and a click on a head sorts them by their numbers."""
    file = tmp_path / "page.html"
    policy = re.search(r"<meta http-equiv[^>]*>", page)
    assert policy is not None
    file.write_text(page.replace("</body>", PERSON))
    title = re.search(r"<title>(\{.*?\})</title>", browsed(file, "--dump-dom"))
    assert title is not None
    seen = json.loads(html.unescape(title[1]))
    assert seen["all"] == [STORY, FP8, SHORT]
    assert seen["sorted"] == [SHORT, STORY, FP8]
    assert seen["backwards"] == [FP8, STORY, SHORT]
    assert seen["filtered"] == [STORY]
    assert seen["said"] == "1 of 3"


@pytest.mark.parametrize("look", ["light", "dark"])
def test_the_page_paints_in_light_and_dark(page: str, tmp_path: Path, look: str) -> None:
    """A screenshot is mostly its paper: white in light, near black in dark."""
    file = tmp_path / "page.html"
    file.write_text(page)
    picture = tmp_path / "page.png"
    dark = ("--blink-settings=preferredColorScheme=0",) if look == "dark" else ()
    browsed(file, f"--screenshot={picture}", "--window-size=1000,700", "--hide-scrollbars", *dark)
    shade = corner(picture)
    assert shade < 40 if look == "dark" else shade == 255


@pytest.mark.parametrize("width", [1200, 800])
def test_the_table_fits_its_window(page: str, tmp_path: Path, width: int) -> None:
    """At the width of a laptop's window, and of half of one, no column of the table is cut."""
    file = tmp_path / "page.html"
    said = """<script>
    const box = document.querySelector(".wide");
    document.title = JSON.stringify([box.scrollWidth, box.clientWidth]);
    </script></body>"""
    file.write_text(page.replace("</body>", said))
    window = f"--window-size={width},700"
    title = re.search(r"<title>(\[.*?\])</title>", browsed(file, "--dump-dom", window))
    assert title is not None
    whole, seen = json.loads(html.unescape(title[1]))
    assert whole <= seen <= width


# A window is not as narrow as a phone's, so that the page lies in a frame that is; what it tells of itself goes up.
FRAME = """<!doctype html><title></title><script>
addEventListener("message", (told) => { document.title = JSON.stringify(told.data); });
</script><iframe src="page.html" style="width: 360px; height: 4000px; border: 0"></iframe>"""
TELL = """<script>
for (const each of document.querySelectorAll("details")) each.open = true;
const cells = [...document.querySelectorAll("td")].map((each) => each.getBoundingClientRect());
parent.postMessage({
  page: document.documentElement.scrollWidth,
  cells: Math.max(...cells.map((each) => each.right)),
  shown: cells.every((each) => each.width > 0),
  names: getComputedStyle(document.querySelector("td[data-name]"), "::before").content,
  left: (() => {
    const box = document.querySelector("input");
    box.value = "uncertain"; box.dispatchEvent(new Event("input"));
    return [...document.querySelectorAll("[data-services] tbody tr")].filter((each) => each.offsetHeight > 0).length;
  })(),
}, "*");
</script></body>"""


def test_on_a_phone_nothing_is_beyond_the_edge(page: str, tmp_path: Path) -> None:
    """At 360 pixels every cell of every table is seen without scrolling, each behind the name of its column."""
    (tmp_path / "page.html").write_text(page.replace("</body>", TELL))
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME)
    title = re.search(r"<title>(\{.*?\})</title>", browsed(frame, "--dump-dom"))
    assert title is not None
    told = json.loads(html.unescape(title[1]))
    assert told["page"] <= 360
    assert told["cells"] <= 360
    assert told["shown"]
    assert told["names"].startswith('"host')
    assert told["left"] == 1  # of the filter


def corner(picture: Path) -> int:
    """The first byte of a PNG's first pixel (PNG 1.2: the first row's filter changes nothing on its left edge)."""
    data, at, packed = picture.read_bytes(), 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    return zlib.decompress(packed)[1]


@pytest.mark.parametrize("word", ["nobody", "base/service", "../x"])
def test_a_page_without_what_was_asked_for_is_not_written(tmp_path: Path, word: str) -> None:
    """A name that is no service is an error, and there is no page, as a file or on stdout."""
    tree = checkout(tmp_path / "tree")
    for words in ((word,), (word, "-o", "page.html")):
        done = report(tree.root, *words)
        assert (done.code, done.out) == (1, "")
        assert "error[profile-" in done.err
    assert not (tree.root / "page.html").exists()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (f"profiles/{SHORT}.toml", "profiles, boots, and entries of the catalogue stand there"),
        ("profiles/page.html", "profiles, boots, and entries of the catalogue stand there"),
        ("poolproof.toml", "a file stands there that is no report"),
        ("link.html", "a file stands there that is no report"),
    ],
)
def test_a_page_is_written_over_nothing_of_somebodys_own(
    tmp_path: Path, name: str, why: str
) -> None:
    """A profile, a file that is no report, or one behind a link, stays as it is; an earlier page is replaced."""
    tree = checkout(tmp_path / "tree")
    (tree.root / "link.html").symlink_to("poolproof.toml")
    (tree.root / "page.html").write_bytes(b"")
    assert report(tree.root, SHORT, "-o", "page.html").code == 0
    assert report(tree.root, SHORT, "-o", "page.html").code == 0
    path = tree.root / name
    before = path.read_bytes() if path.exists() else None
    made = report(tree.root, SHORT, "-o", name)
    assert made.code == 1
    assert f"`{name}` is not written: {why}" in made.err
    assert (path.read_bytes() if path.exists() else None) == before


def test_where_a_page_is_written(tmp_path: Path) -> None:
    """A link is followed, a pipe is written to and stays one; an empty name is no file."""
    tree = checkout(tmp_path / "tree")
    (tree.root / "link.html").symlink_to("page.html")
    assert report(tree.root, SHORT, "-o", "link.html").code == 0
    assert (tree.root / "link.html").is_symlink()
    page = (tree.root / "page.html").read_text("utf-8")
    pipe = tree.root / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        assert report(tree.root, SHORT, "-o", "pipe").code == 0
        assert reader.communicate(timeout=60)[0] == page
    assert pipe.is_fifo()
    assert report(tree.root, SHORT, "-o", "").code == 2
    dashed = report(tree.root, SHORT, "-o", "-")
    assert (dashed.code, dashed.out == page, (tree.root / "-").exists()) == (0, True, False)
