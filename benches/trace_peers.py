"""Time and peak memory of another tool for a trace file."""

import pathlib
import resource
import shutil
import sys
import time


def xprof(path, folder):
    """Compute the overview page, the smallest result with the steps' times."""
    from xprof.convert import raw_to_tool_data

    run = folder / "plugins" / "profile" / path.stem
    run.mkdir(parents=True, exist_ok=True)
    copy = run / "host.xplane.pb"
    shutil.copyfile(path, copy)
    start = time.perf_counter()
    data, _ = raw_to_tool_data.xspace_to_tool_data([str(copy)], "overview_page", {})
    seconds = time.perf_counter() - start
    if not data:
        sys.exit("xprof gave nothing")
    return "xprof, overview page", seconds


def hta(path, folder):
    """Load the file, which every analysis requires."""
    from hta.trace_analysis import TraceAnalysis

    own = folder / "hta" / path.stem
    own.mkdir(parents=True, exist_ok=True)
    copy = own / "rank-0.json"
    # It requires the rank of each file.
    version = '"schemaVersion": 1,'
    text = path.read_text().replace(version, version + ' "distributedInfo": {"rank": 0},', 1)
    copy.write_text(text)
    start = time.perf_counter()
    TraceAnalysis(trace_files={0: str(copy)}, trace_dir=str(own))
    return "HolisticTraceAnalysis, loading", time.perf_counter() - start


if __name__ == "__main__":
    which, path, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    name, seconds = {"xprof": xprof, "hta": hta}[which](path, folder)
    megabytes = path.stat().st_size / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(f"{name}: {seconds:.1f} s, {megabytes / seconds:.1f} MB/s, peak {peak:.0f} MB")
