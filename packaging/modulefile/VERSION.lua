-- Environment module for weft (Lmod). Unpack the archive of the release below some folder, and put
-- this file next to others that Lmod finds:
--
--   mkdir -p /opt/weft/@VERSION@
--   tar -xzf weft-@VERSION@-linux-amd64.tar.gz -C /opt/weft/@VERSION@ --strip-components 1
--   mkdir -p MODULES/weft
--   cp packaging/modulefile/@VERSION@.lua MODULES/weft/
--   module use MODULES && module load weft && weft version
--
-- WEFT_PREFIX names the folder that contains the versions, if it is not /opt/weft.
help([[weft reads, converts, checks, analyses and draws execution traces.]])

whatis("Name: weft")
whatis("Version: @VERSION@")
whatis("Description: reads, converts, checks, analyses and draws execution traces")
whatis("URL: https://github.com/weft-trace/weft")

local root = pathJoin(os.getenv("WEFT_PREFIX") or "/opt/weft", "@VERSION@")

prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))

-- bash-completion and fish look below XDG_DATA_DIRS. Without a value, the variable stands for the two
-- folders of the system, which must stay in it.
if (os.getenv("XDG_DATA_DIRS") or "") == "" then
   append_path("XDG_DATA_DIRS", "/usr/local/share")
   append_path("XDG_DATA_DIRS", "/usr/share")
end
append_path("XDG_DATA_DIRS", pathJoin(root, "share"))

-- zsh looks in fpath. An exported FPATH would replace zsh's own folders, so only fpath is changed.
if myShellName() == "zsh" then
   local folder = pathJoin(root, "share/zsh/site-functions")
   execute{cmd = "fpath+=('" .. folder .. "')", modeA = {"load"}}
   execute{cmd = "fpath=(${fpath:#" .. folder .. "})", modeA = {"unload"}}
end
