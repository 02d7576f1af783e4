"""Real runs of interventions: a new condition is computed alone, and a run that fails leaves the earlier rows."""

from homogenization.run.parquet import read_table

TARGET = "results/interventions/tiny/original/000.doses.parquet"


def test_a_rerun_computes_the_new_condition_alone(finished):
    made, log = finished.folder / TARGET, finished.folder / "results/logs/interventions/tiny/original/000.log"
    before = read_table(made)
    assert "0 of 4 conditions are known" in log.read_text()
    assert finished.planned(TARGET) == {}

    finished.config["interventions"]["steering"]["strengths"].append(0.4)
    assert finished.planned(TARGET) == {"apply_interventions": 1}
    finished.make(TARGET)
    assert "4 of 6 conditions are known" in log.read_text()
    after = read_table(made)
    assert after["condition"].n_unique() == 6
    assert before.equals(after.filter(after["condition"].is_in(before["condition"].to_list())))

    finished.config["interventions"]["blocks"] = [[7]]
    finished.fails(TARGET)
    assert "blocks: '7' names blocks that the model tiny does not have; it has 3" in log.read_text()
    assert read_table(made).equals(after), "the earlier rows are still there"
