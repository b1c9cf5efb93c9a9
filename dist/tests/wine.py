"""Windows for programs that are tried on Linux: a system of wine, in a folder of its own.

wine 8 lacks one function of Windows, which is added to it.
"""

import os
import subprocess
from pathlib import Path

from checking import missing, run

INSTALL = "apt-get install --no-install-recommends -y"
# The standard library takes random numbers from this function.
RANDOM = """
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) { return SystemFunction036(data, length); }
"""


def begin(folder: Path) -> None:
    """Makes the system, in which wine starts programs from now on."""
    missing("wine", f"{INSTALL} wine wine64")
    missing("x86_64-w64-mingw32-gcc", f"{INSTALL} gcc-mingw-w64-x86-64")
    os.environ |= {"WINEPREFIX": str(folder), "WINEDEBUG": "-all"}
    run(["wineboot", "--init"])
    library = folder / "drive_c/windows/system32/bcryptprimitives.dll"
    command = ["x86_64-w64-mingw32-gcc", "-shared", "-x", "c", "-", "-ladvapi32", "-o", str(library)]
    subprocess.run(command, input=RANDOM, text=True, check=True)


def end() -> None:
    """Ends all programs of the system, of which some go on after the last one was used."""
    subprocess.run(["wineserver", "--kill"], check=False)
