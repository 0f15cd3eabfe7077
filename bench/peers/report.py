"""Tables of a comparison's results."""
import configurations
import measure

OURS = "saccade"


def key(group):
    return group["network"], group["threads"], group["class"], group["cap"], group.get("clock", "wall")


def title(engine):
    return configurations.ENGINES.get(engine, "Saccade")


def ratios(ours, peer):
    """Peer's time / our time, round by round."""
    return [theirs / us for us, theirs in zip(ours.get("rounds_ms", []), peer.get("rounds_ms", []))]


def best_peer(group):
    """(ours, the fastest peer or None)."""
    ours = next(entry for entry in group["contenders"] if entry["engine"] == OURS)
    measured = [entry for entry in group["contenders"] if entry["engine"] != OURS and "median_ms" in entry]
    return ours, min(measured, key=lambda entry: entry["median_ms"], default=None)


def ratio_cell(ours, peer):
    values = ratios(ours, peer)
    return f"{measure.median(values):.2f} ({min(values):.2f}-{max(values):.2f})" if values else "-"


def time_cell(entry):
    if "median_ms" not in entry:
        return "-"
    low, high = entry["quartiles_ms"]
    return f"{entry['median_ms']:.2f} ({low:.2f}-{high:.2f})"


def precision_cell(entry):
    """What was executed: as the engine says, else what the error tells."""
    said = entry.get("precision")
    if isinstance(said, dict) and "steps" in said:
        return ", ".join(f"{name} ×{count}" for name, count in said["steps"].items())
    if isinstance(said, dict) and "multiply_adds" in said:
        return ", ".join(f"{name} {100 * share:.0f} %" for name, share in said["multiply_adds"].items())
    error = entry.get("max_error")
    if error is None:
        return "not said"
    return "fp32 (by its error)" if error < 1e-3 else "less than fp32 (by its error)"


def agreement_cells(entry):
    error, same = entry.get("max_error"), entry.get("same_class")
    return ["-" if error is None else f"{error:.1e}", "-" if same is None else f"{100 * same:.3f} %"]


def contender_row(group, ours, entry):
    megabytes = f"{entry['peak_bytes'] / 1e6:.0f}" if "peak_bytes" in entry else "-"
    load = f"{entry['load_ms']:.0f}" if "load_ms" in entry else "-"
    ratio = "" if entry is ours else ratio_cell(ours, entry)
    return [group["title"], group["threads"], group["class"], f"{title(entry['engine'])} {entry.get('version', '')}".strip(),
            entry["setting"] if entry["class"] == group["class"] else f"{entry['class']} {entry['setting']}", time_cell(entry), ratio,
            precision_cell(entry) if "load_ms" in entry else "-", *agreement_cells(entry), load, megabytes, entry.get("reason", "")]


def summary_row(group):
    ours, peer = best_peer(group)
    cap = (f" ({group['cap']})" if group["cap"] else "") + (" (CPU time)" if group.get("clock") == "cpu" else "")
    row = [group["title"] + cap, group["threads"], group["class"], time_cell(ours) if "median_ms" in ours else ours.get("reason", "-")]
    if peer is None:
        return row + ["none", "-", "-"]
    return row + [f"{title(peer['engine'])} {peer['setting']}", time_cell(peer), ratio_cell(ours, peer)]


def line(group):
    return "  ".join(str(cell) for cell in summary_row(group))


def print_tables(report):
    print()
    print(measure.markdown(["network", "threads", "class", "Saccade, ms", "fastest peer", "its ms", "its time / ours"],
                           [summary_row(group) for group in report["results"]]))
    print()
    rows = []
    for group in report["results"]:
        ours, _ = best_peer(group)
        rows += [contender_row(group, ours, entry) for entry in group["contenders"]]
    print(measure.markdown(["network", "threads", "class", "engine", "setting", "ms", "time / ours", "executed", "largest error",
                            "same class", "load, ms", "peak, MB", "remark"], rows))
