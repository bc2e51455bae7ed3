"""From a table with labels to numbers, in one command."""

from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import yaml

from evalsampling import Evaluation
from evalsampling.evaluation import load_spec
from tests.jobs import call, files_below
from tests.labels_at_hand import labelled_pool
from tests.slow import fast


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def table(tmp_path: Path) -> str:
    """The name of a CSV file in the current folder, with a column of labels."""
    columns = labelled_pool().table.drop_columns(["odds", "stands_for"])
    pyarrow.csv.write_csv(columns, tmp_path / "my verdicts.csv")
    return "my verdicts.csv"


def test_from_a_table_to_numbers_and_on(table: str, tmp_path: Path) -> None:
    """The same numbers as in Python; run again it changes nothing, and `sample` goes on."""
    done = call("estimate", table, "--label", "human", "--drawn", "random", "--json").done
    assert done.json["labels"] == 150
    assert done.json["notes"][0].startswith(
        "all numbers rest on what was said of the 150 labels of column hu"
    )
    spec = tmp_path / "my-verdicts-evaluation.yaml"
    content = yaml.safe_load(spec.read_text())
    assert content["labels"]["column"] == "human"
    assert content["labels"]["drawn"] == "random"
    assert "human" not in str(content["pool"])
    memory = Evaluation.from_frame(
        pyarrow.csv.read_csv(table),
        labels=content["labels"],
        measure=content["measure"],
        slices=content["pool"].get("slices", []),
        budget=1000,
    )
    values = {each.target.title: each.value for each in memory.estimate()}
    measures = done.json["measures"]
    assert [each["value"] for each in measures] == pytest.approx(list(values.values()))
    before = files_below(tmp_path)
    assert call("estimate", table, "--label", "human", "--drawn", "random").status == 0
    assert files_below(tmp_path) == before
    drawn = call("sample", "my-verdicts-evaluation", "--size", "5", "--json").json
    assert (drawn["round"], drawn["rows"]) == (2, 5)


@pytest.mark.parametrize(
    ("name", "of_labelled", "of_others"),
    [("annotator", "ann,bob", ","), ("second", "good,bad", ","), ("reviewed", "Y,Y", "N,N")],
)
def test_a_column_that_came_with_the_labels_is_no_slice(
    tmp_path: Path, name: str, of_labelled: str, of_others: str
) -> None:
    """No labelled row is without it, which says nothing of how rows were drawn."""
    lines = [
        f"a{i},{'bad' if i % 4 else 'good'},{'' if i % 3 else 'bad'},{'x' if i % 2 else 'y'},"
        f"{(of_others if i % 3 else of_labelled).split(',')[i % 2]}"
        for i in range(300)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["id,verdict,human,topic," + name, *lines]))
    done = call("estimate", "t.csv", "--label", "human", "--drawn", "random").done
    assert "said to be drawn" not in done.out + done.err
    content = yaml.safe_load((tmp_path / "t-evaluation.yaml").read_text())
    assert content["pool"]["slices"] == ["topic"]


def test_labels_drawn_within_groups(table: str) -> None:
    done = call("estimate", table, "--label", "human", "--drawn", "within:region").done
    assert "said to be drawn" not in done.out
    assert "were drawn at random among those of each region" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--label", "human"], "--label goes with --drawn"),
        (["--drawn", "random"], "--drawn is of a table: --label names its column of labels"),
        (["--label", "human", "--drawn", "random", "--positive", "2"], "'2' is none of: 0, 1"),
        (["--label", "hum", "--drawn", "random"], "column 'hum' is missing; did you mean human?"),
        (["--label", "human", "--drawn", "chance:p"], "column 'p' is missing"),
        (["--label", "human", "--drawn", "random", "--runner", "DirectRunner"],
         "--drawn is of a table, which is read without Beam"),
        (["--cluster", "talk"], "--cluster is of a table: --label names its column of labels"),
        (["--label", "human", "--drawn", "random", "--weight", "odd"], "column 'odd' is missing"),
        (["--label", "human", "--drawn", "clusters"], "--drawn clusters: name the column"),
    ],
)  # fmt: skip
def test_what_is_wrong(table: str, tmp_path: Path, options: list[str], message: str) -> None:
    before = files_below(tmp_path)
    done = call("estimate", table, *options)
    assert done.status != 0
    assert message in done.err
    assert files_below(tmp_path) == before


FILES = {
    "p.csv": "id,score,label\n" + "".join(f"{i},{i % 40 / 40},{i % 3 % 2}\n" for i in range(300)),
    "l.csv": "id,label,odds\n" + "".join(f"{i},{i % 5 % 2},0.5\n" for i in range(0, 300, 4)),
}


@pytest.mark.parametrize(
    ("pool", "labels"), fast(1, [("p.csv", "l.pq"), ("p.pq", "l.csv"), ("p.pq", "l.pq")])
)
def test_labels_in_a_file_of_their_own(tmp_path: Path, pool: str, labels: str) -> None:
    """The same numbers as of one table, which is written beside; also by `init`."""
    for name, text in FILES.items():
        Path(name).write_text(text)
        pq.write_table(pyarrow.csv.read_csv(name), name.replace("csv", "pq"))
    done = call("estimate", pool, labels, "--drawn", "chance:odds").done
    assert "predictions are label, scores score; measures are about 1" in done.err
    before = files_below(tmp_path)
    assert call("estimate", pool, labels, "--drawn", "chance:odds").out == done.out
    assert files_below(tmp_path) == before
    table = pyarrow.csv.read_csv("p.csv").to_pandas()
    given = pyarrow.csv.read_csv("l.csv").to_pandas().rename(columns={"label": "true_label"})
    table.merge(given, on="id", how="left").to_csv("one.csv", index=False)
    asked = ("--label", "true_label", "--drawn", "chance:odds")
    assert call("estimate", "one.csv", *asked).out == done.out
    assert call("init", pool, labels, "--drawn", "random").status == 0
    assert load_spec("evaluation.yaml").labels.at_hand.column == "true_label"
    assert "nothing wrong found" in call("prepare", "--check", "evaluation.yaml").out


@pytest.mark.parametrize(
    ("pool", "labels", "message"),
    [
        ("p.csv", "id,human\n1,0\n2,1\n1,0\n", "row 2: 1 is in row 0 too; a row has one"),
        ("p.csv", "id,human\n1,0\n007,1\n", "row 1: 007 is in no row of p.csv, as are 1 of"),
        ("p.csv", "row,human\n1,0\n", "rows are not named as in p.csv: both need ids in a"),
        ("p.csv", "id,a,b\n1,0,1\n2,1,0\n", "its column of labels by --label"),
        ("p.csv", "id,human\n", "labels.csv: there are no rows"),
        ("p.csv", "id,human\n1,0\n2,odd\n", "label 'odd' is none of: 0, 1"),
        ("p.csv", FILES["p.csv"], "`evalsampling init p.csv labels.csv` makes one table of two"),
        ("p.csv", "id,score,pred\n1,0.5,1\n2,0.1,0\n", "row 0: 0 is in no row of labels.csv"),
        ("l.csv", FILES["p.csv"], "the pool is named first, its labels second"),
        ("twice.csv", "id,human\n1,0\n", "There are id, score, label; and id, human; "),
        ("lines.csv", ",human\n0,0\n1,1\n", "rows are not named as in lines.csv"),
    ],
)
def test_files_of_labels_that_do_not_fit(
    tmp_path: Path, pool: str, labels: str, message: str
) -> None:
    """Nothing is left behind; numbers of lines, as pandas writes them, are those of each file."""
    head, _, rows = FILES["p.csv"].partition("\n")
    others = {"twice.csv": f"{head}\n{rows}{rows}", "lines.csv": f"{head[2:]}\n{rows}"}
    for name, text in {**FILES, **others, "labels.csv": labels}.items():
        Path(name).write_text(text)
    before = files_below(tmp_path)
    assert message in call("estimate", pool, "labels.csv", "--drawn", "random").refused
    assert files_below(tmp_path) == before


OF_A_ROW = {
    "id": "{0}", "amount": "{0}.5", "title": "t{0}", "score": "0.{1:02}", "risk": "0.{1:02}",
    "pred": "{2}", "human": "{5}", "prediction": "{3}", "sure": "0.{4}",
}  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "system"),
    [
        ("id,score,human", "id,score,human", "score: score_{0}, prediction: {{threshold: 0.5}}"),
        ("id,score,pred", "id,amount,risk,pred", "score: score_{0}, prediction: prediction_{0}"),
        ("id,title,prediction", "id,prediction", "prediction: prediction_{0}"),
        ("id,sure,prediction", "id,sure,prediction",
         "score: score_{0}, score_is: confidence, prediction: prediction_{0}"),
    ],
)  # fmt: skip
def test_two_systems_in_two_files(first: str, second: str, system: str) -> None:
    """The second was refused, or its predictions were taken for labels."""
    for name, columns, step in (("old", first, 7), ("new", second, 11)):
        row = ",".join(OF_A_ROW[column] for column in columns.split(","))
        values = [(i, i * step % 100, i * step // 7 % 3 // 2, i % 40 + 60) for i in range(300)]
        rows = [
            row.format(*v[:3], ["ok", "bad"][v[2]], v[3], v[0] % 2)
            for v in values[:: 1 if step < 9 else -1]
        ]
        Path(f"preds_{name}.csv").write_text("\n".join([columns, *rows]))
    assert call("init", "preds_old.csv", "preds_new.csv").status == 0
    systems = {name: yaml.safe_load(f"{{{system.format(name)}}}") for name in ("old", "new")}
    assert yaml.safe_load(Path("evaluation.yaml").read_text())["pool"]["systems"] == systems
    assert "nothing wrong found" in call("prepare", "--check", "evaluation.yaml").out
    names = "preds_old.csv", "preds_new.csv", "evaluation-systems.csv"
    old, new, both = (pyarrow.csv.read_csv(name).to_pandas().sort_values("id") for name in names)
    new = new.drop(columns=["amount", "human"], errors="ignore")
    assert (both.to_numpy() == old.merge(new, on="id").to_numpy()).all()
    if "human" in first:
        done = call("estimate", *names[:2], "--label", "human", "--drawn", "random").done
        assert "Difference in F1 of old against new" in done.out


def test_a_table_of_other_labels_is_not_overwritten() -> None:
    for name, text in FILES.items():
        Path(name).write_text(text)
    Path("p-labelled.csv").write_text("mine")
    done = call("estimate", "p.csv", "l.csv", "--drawn", "random")
    assert "p-labelled.csv: is there already, with other rows or labels: remove it" in done.refused
    assert Path("p-labelled.csv").read_text() == "mine"
    assert "answers to a round come by --labels" in call("estimate", "run", "l.csv").err


def test_a_spec_that_is_there_already(table: str, tmp_path: Path) -> None:
    """It is gone on with; of other labels, or another table of the same name, it is refused."""
    asked = ("--label", "human", "--drawn")
    assert call("estimate", table, *asked, "random").status == 0
    said = "my-verdicts-evaluation.yaml: is there already, and says"
    assert said in call("estimate", table, *asked, "picked").refused
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / table).write_bytes((tmp_path / table).read_bytes())
    other = call("estimate", f"other/{table}", *asked, "random").refused
    assert f"says pool.path: {tmp_path / table}" in other
    spec = tmp_path / "my-verdicts-evaluation.yaml"
    spec.write_text(spec.read_text().replace("column: human", "# column: human"))
    done = call("estimate", table, *asked, "random")
    assert "labels.drawn: is of labels that are in the pool" in done.err


def test_the_positive_class_is_said(tmp_path: Path) -> None:
    """It is the rarer verdict, or the one asked for; another one than before is refused."""
    lines = [f"a{i},{'bad' if i % 4 else 'good'},{'bad' if i % 3 else ''}" for i in range(60)]
    (tmp_path / "answers.csv").write_text("\n".join(["id,verdict,human", *lines]))
    asked = ["estimate", "answers.csv", "--label", "human", "--drawn", "random"]
    done = call(*asked, "--positive", "bad").done
    assert "predictions are verdict; measures are about bad" in done.err
    assert call(*asked).out == done.out
    refused = call(*asked, "--positive", "good")
    assert "is there already, and says labels.positive: bad" in refused.err


def test_the_verdict_is_the_column_with_the_values_of_the_labels(tmp_path: Path) -> None:
    """Whatever it is called."""
    lines = [
        f"a{i},{'it' if i % 2 else 'law'},{'bad' if i % 4 else 'good'},{'bad' if i % 3 else ''}"
        for i in range(60)
    ]
    lines[0] = "a0,law,good,good"
    (tmp_path / "odd.csv").write_text("\n".join(["id,topic,xq7,human", *lines]))
    done = call(
        "estimate", "odd.csv", "--label", "human", "--drawn", "random", "--positive", "bad"
    ).done
    assert "predictions are xq7; measures are about bad" in done.err
    assert "positive is bad." in " ".join(done.out.split())
    assert call("report", "odd-evaluation", "--short", "--to", "boss.html").status == 0
    page = (tmp_path / "boss.html").read_text()
    assert "All numbers rest on what was said of the" in page
    assert "known chances" not in page


def test_labels_say_what_the_classes_of_a_threshold_are_called(tmp_path: Path) -> None:
    """No column has verdicts; the rarer of two labels is what measures are about.

    A second score may be that of another system, which is not read.
    """
    word = ["ok", "fraud"]
    lines = [
        f"a{i},{i % 30 / 30:.2f},{i % 7 / 9:.2f},{word[i % 30 > 20] * (i % 2)}" for i in range(300)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["id,score_old,score_new,human", *lines]))
    done = call("estimate", "t.csv", "--label", "human", "--drawn", "random").done
    assert "measures are about fraud; not read: score_new" in done.err
    content = yaml.safe_load((tmp_path / "t-evaluation.yaml").read_text())
    assert content["labels"]["classes"] == ["fraud", "ok"]
    assert content["pool"]["prediction"] == {"threshold": 0.5}


def test_of_several_classes_numbers_are_of_all(tmp_path: Path) -> None:
    """Not of the last one by the alphabet; or of one that is named, and then it is said."""
    names = ["bill", "login", "other"]
    lines = [f"a{i},{names[i % 3]},{names[(i + i // 50) % 3] * (i % 2)}" for i in range(300)]
    (tmp_path / "t.csv").write_text("\n".join(["id,verdict,human", *lines]))
    asked = ["estimate", "t.csv", "--label", "human", "--drawn", "random"]
    done = call(*asked).done
    assert [line.split(" 0.")[0] for line in done.out.splitlines() if " 0." in line] == [
        "Macro F1", "Accuracy", "F1 for bill", "F1 for login", "F1 for other"
    ]  # fmt: skip
    assert "positive" not in done.out + done.err
    (tmp_path / "t.csv").rename("u.csv")
    done = call(*[*asked[:1], "u.csv", *asked[2:]], "--positive", "login").done
    assert "F1 0." in done.out
    assert "positive is login." in " ".join(done.out.split())


def test_two_columns_with_the_words_of_labels_are_two_systems(tmp_path: Path) -> None:
    """The second was taken for a slice of the first."""
    lines = [f"{i},{_word(i % 4)},{_word(i % 5)},{_word(i % 3) * (i % 2)}" for i in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["id,one,two,human", *lines]))
    done = call("estimate", "t.csv", "--label", "human", "--drawn", "random").done
    assert "Difference in F1 of one against two" in done.out
    content = yaml.safe_load((tmp_path / "t-evaluation.yaml").read_text())
    assert content["pool"]["systems"] == {name: {"prediction": name} for name in ("one", "two")}
    assert "slices" not in content["pool"]


def _word(number: int) -> str:
    return "good" if number else "bad"


def test_the_index_that_pandas_writes_names_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE.replace("id,", ",", 1))
    assert call("estimate", "t.csv", "--label", "human", "--drawn", "random").status == 0
    content = yaml.safe_load((tmp_path / "t-evaluation.yaml").read_text())
    assert content["pool"]["id"] == "Unnamed: 0"


def test_odd_labels_are_those_of_their_column(tmp_path: Path) -> None:
    """Not those of a file that nobody gave."""
    lines = [f"a{i},{int(i % 5 == 0)},{int(i % 9 > 0) if i % 2 else ''}" for i in range(400)]
    (tmp_path / "t.csv").write_text("\n".join(["id,verdict,is_right", *lines]))
    done = call("estimate", "t.csv", "--label", "is_right", "--drawn", "random").done
    assert "The answers of column is_right contradict the predictions" in done.out


@pytest.mark.parametrize(
    ("columns", "prediction", "classes"),
    [
        ({"gamma_name": "-1,0,1", "gamma_dob": "0,1", "key": "1,0"}, {"threshold": 0.5}, [0, 1]),
        ({"alert": "N,N,Y"}, "alert", [0, 1]),
        ({"judge": "0,1,0", "weekend": "0,1"}, "judge", [0, 1]),
        ({"flag": "0,1,1,1,1"}, "flag", [0, 1]),  # all that it flags have a label, and no others
    ],
)
def test_a_column_that_has_the_numbers_of_labels_by_chance_is_no_prediction(
    tmp_path: Path, columns: dict[str, str], prediction: Any, classes: list[int]
) -> None:
    """Comparisons of names were taken for the predicted classes of a linkage."""
    lines = [",".join(["unique_id_l,unique_id_r,match_probability,human", *columns])]
    for i in range(300):
        of_each = [values.split(",")[i % (values.count(",") + 1)] for values in columns.values()]
        lines.append(",".join([f"a{i // 9},b{i},{i / 300},{i % 2 if i % 5 else ''}", *of_each]))
    (tmp_path / "t.csv").write_text("\n".join(lines))
    assert call("estimate", "t.csv", "--label", "human", "--drawn", "random").status == 0
    content = yaml.safe_load((tmp_path / "t-evaluation.yaml").read_text())
    assert content["pool"]["id"] == ["unique_id_l", "unique_id_r"]
    assert (content["pool"]["prediction"], content["labels"]["classes"]) == (prediction, classes)


LINES = [f"{i},{'bad' if i % 4 else 'good'},müll,{'bad' if i % 3 else ''}" for i in range(60)]
TABLE = "\n".join(["id,verdict,topic,human", *LINES])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", TABLE.encode("utf-16"), "a.csv: the header: is not UTF-8: save the file as"),
        ("b.csv", TABLE.encode("cp1252"), "b.csv: row 0: is not UTF-8: save the file as UTF-8"),
        ("c.csv", TABLE.replace("müll", "x").replace("57,bad,x", "57,bad,é").encode("cp1252"),
         "c.csv: row 57: is not UTF-8"),
        ("d.xlsx", b"PK\3\4", "d.xlsx: a workbook is no pool: save the sheet as CSV, in UTF-8"),
        ("e.csv", TABLE.replace("\n5,", "\n4,").encode(), "row 5: duplicate id '4', also in row 4"),
        ("f.csv", b"a,b,human\n1,1,1\n1,1,\n", "f-evaluation.yaml: fill in pool.id"),
        ("i.csv", b"id,score,a,b,human\n1,.5,x,y,x\n2,.1,y,x,y\n3,7,x,x,y",
         "fill in pool.prediction, which the columns of i.csv leave open"),
        ("g.csv", TABLE.replace("topic", "verdict", 1).encode(),
         "g.csv: column 'verdict' is there twice"),
        ("j.txt", TABLE.encode() * 9, "Files of other formats end in .csv, .tsv, .jsonl"),
        ("k.csv", b"1,0.3127,1,1\n" * 9, "there is the number 0.3127 where the name of a column"),
        ("l.csv", b"id,verdict,human\n1,bad,yes\n2,good,no\n3,good,\n",
         "--positive: is a yes in human bad or good? Name it"),
        ("h.csv", f"{TABLE}\n,,,\n".encode(), "row 60: null; such rows are left out by pool.where"),
    ],
)  # fmt: skip
def test_tables_that_cannot_be_read_as_they_are(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    Path(name).write_bytes(content)
    assert message in call("estimate", name, "--label", "human", "--drawn", "random").refused


def test_a_call_that_failed_does_not_stand_in_the_way(table: str, tmp_path: Path) -> None:
    """Without a workspace the spec that it wrote goes again."""
    rows = pyarrow.csv.read_csv(table)
    names = [f"answer {i}" for i in range(len(rows))]
    pyarrow.csv.write_csv(rows.append_column("answer", [names]), tmp_path / table)
    asked = ["estimate", table, "--label", "human", "--drawn"]
    assert "column 'answer' has 2000 values or more" in call(*asked, "within:answer").err
    assert call(*asked, "random").status == 0


def test_slices_of_picked_rows_claim_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE.replace("1,bad,müll", "1,bad,x"))
    done = call("estimate", "t.csv", "--label", "human", "--drawn", "picked")
    assert "1.0000" not in done.out
    assert "no claim" in done.out


def test_clusters_and_weights_of_a_table(table: str, tmp_path: Path) -> None:
    """They are keys of the spec; another column than before is refused."""
    rows = pyarrow.csv.read_csv(table)
    talk, views = [f"t{i // 9}" for i in range(len(rows))], [1 + i % 5 for i in range(len(rows))]
    rows = rows.append_column("talk", [talk]).append_column("views", [views])
    pyarrow.csv.write_csv(rows, tmp_path / table)
    asked = ["estimate", table, "--label", "human", "--drawn", "random"]
    done = call(*asked, "--cluster", "talk", "--weight", "views", "--json")
    assert done.status == 0, done.err
    content = yaml.safe_load((tmp_path / "my-verdicts-evaluation.yaml").read_text())
    assert (content["pool"]["cluster"], content["pool"]["weight"]) == ("talk", "views")
    assert not {"talk", "views"} & {*content["pool"].get("slices", []), *content["pool"]["payload"]}
    assert "says pool.cluster: talk" in call(*asked, "--cluster", "region").err


def test_verdicts_in_another_spelling_than_labels_are_the_predictions(tmp_path: Path) -> None:
    """A threshold of the score would be judged in their place, which the first line would say."""
    spelt = [("match", "Match "), ("No Match", "no match")]
    lines = [
        f"a{row},{row % 40 / 40},{spelt[row % 3 == 0][0]},{spelt[row % 4 == 0][1] * (row % 5 == 0)}"
        for row in range(400)
    ]
    (tmp_path / "pairs.csv").write_text("\n".join(["id,score,system,human", *lines, ""]))
    done = call("estimate", "pairs.csv", "--label", "human", "--drawn", "random")
    assert "predictions are system, scores score; measures are about" in done.err
    without = [",".join(line.split(",")[:2] + line.split(",")[3:]) for line in lines]
    (tmp_path / "none.csv").write_text("\n".join(["id,score,human", *without, ""]))
    done = call("estimate", "none.csv", "--label", "human", "--drawn", "random")
    assert "predictions are score at or above 0.5, no column of their own, scores" in done.err
