"""Spack recipe for weft, from the archives of the release.

Spack looks for the archives in the folder that WEFT_RELEASE names, such as dist. To try it, put
this file into a repository of packages, and install from there:

    spack repo create weft-repo weft
    mkdir -p weft-repo/packages/weft
    cp dist/packaging/spack/package.py weft-repo/packages/weft/
    spack repo add weft-repo
    WEFT_RELEASE="$PWD/dist" spack install weft
    spack load weft && weft version

Newer versions of Spack create the repository below weft-repo/spack_repo/weft.
"""

import os
import platform

from spack.package import *

_checksums = {
    "amd64": "@SHA256:weft-@VERSION@-linux-amd64.tar.gz@",
    "arm64": "@SHA256:weft-@VERSION@-linux-arm64.tar.gz@",
}
_arch = "arm64" if platform.machine() in ("aarch64", "arm64") else "amd64"


class Weft(Package):
    """weft reads, converts, checks, analyses and draws execution traces."""

    homepage = "https://github.com/weft-trace/weft"

    license("Apache-2.0")

    version(
        "@VERSION@",
        sha256=_checksums[_arch],
        url="file://{0}/weft-@VERSION@-linux-{1}.tar.gz".format(
            os.path.abspath(os.environ.get("WEFT_RELEASE", "dist")), _arch
        ),
    )

    conflicts("platform=darwin")
    conflicts("platform=windows")

    def install(self, spec, prefix):
        install_tree("bin", prefix.bin)
        install_tree("share", prefix.share)
        mkdirp(prefix.share.doc.weft)
        for name in ("LICENSE", "THIRD-PARTY-LICENSES", "README.md", "CHANGELOG.md"):
            install(name, prefix.share.doc.weft)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_version(self):
        Executable(self.prefix.bin.weft)("version")
