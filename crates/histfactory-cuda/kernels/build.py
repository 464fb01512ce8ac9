"""Compiles the kernels with NVRTC of a pinned wheel; needs neither a GPU nor a CUDA toolkit.

``build.py FOLDER`` writes a cubin for each architecture, PTX for newer ones, and their digests.
The same source gives the same files on every machine.
"""

import ctypes
import hashlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
# A cubin also runs on later devices of the same major version.
ARCHITECTURES = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]
NEWER = "compute_80"


def library():
    import nvidia.cuda_nvrtc

    folder = pathlib.Path(next(iter(nvidia.cuda_nvrtc.__path__))) / "lib"
    ctypes.CDLL(str(next(folder.glob("libnvrtc-builtins.so*"))), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(next(folder.glob("libnvrtc.so*"))))


def compiled(nvrtc, source: bytes, architecture: str) -> bytes:
    program = ctypes.c_void_p()
    code = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"histfactory.cu", 0, None, None)
    if code:
        raise SystemExit(f"NVRTC reported {code}")
    options = [
        f"--gpu-architecture={architecture}",
        "--std=c++17",
        "--extra-device-vectorization",
    ]
    given = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    code = nvrtc.nvrtcCompileProgram(program, len(options), given)
    if code:
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise SystemExit(log.value.decode())
    kind = "PTX" if architecture.startswith("compute") else "CUBIN"
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
    binary = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{kind}")(program, binary)
    return binary.raw


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    source = (HERE / "histfactory.cu").read_bytes()
    nvrtc = library()
    digests = [f"{hashlib.sha256(source).hexdigest()}  histfactory.cu"]
    for architecture in [*ARCHITECTURES, NEWER]:
        binary = compiled(nvrtc, source, architecture)
        ending = "ptx" if architecture == NEWER else "cubin"
        name = f"{architecture}.{ending}"
        (folder / name).write_bytes(binary)
        digests.append(f"{hashlib.sha256(binary).hexdigest()}  {name}")
    (folder / "digests.txt").write_text("\n".join(digests) + "\n")


if __name__ == "__main__":
    main()
