package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/serve"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/web"
)

// serveCommand returns the command weft serve.
func (a *app) serveCommand() *cobra.Command {
	var v viewerFlags
	var listen, tokenFile string
	var noToken bool
	var hosts []string
	c := &cobra.Command{
		Use:   "serve DIR",
		Short: "Serve the viewer for all traces of a folder",
		Long: `Serve the viewer for all traces in a folder and its subfolders. Files outside of the
folder cannot be reached, not even through symbolic links. The traces cannot be changed.
Notes that you have written with weft view are shown.

The printed address contains a secret, the token. --token-file stores the token, so that
the address is the same the next time. With --no-token, no token is required; this is
allowed only on local addresses and Unix sockets, and other users of the machine can then
see the traces. The connection is not encrypted: over a network use ssh -L, or a proxy with
TLS.`,
		Example: "  weft serve /scratch/traces\n  weft serve --listen unix:/run/user/1000/weft.sock --no-token traces\n  " +
			"weft serve --listen 0.0.0.0:8080 --host traces.example.org --token-file ~/.weft-token traces",
		Args: exactArgs(1, "a folder"),
		RunE: func(c *cobra.Command, args []string) error {
			if noToken && tokenFile != "" {
				return usageError("--no-token and --token-file: expected one of them")
			}
			opt := serve.Options{Version: readBuildVersion().Version, Page: web.Files(), Hosts: hosts}
			var err error
			if opt.Reading, err = a.viewerSettings(&v); err != nil {
				return err
			}
			if args[0] == "" {
				return usageError("found an empty name, expected that of a folder")
			}
			if opt.Dir, err = os.OpenRoot(args[0]); err != nil {
				return err
			}
			defer opt.Dir.Close()
			if opt.Token, err = readOrCreateToken(tokenFile, noToken); err != nil {
				return err
			}
			if opt.Cache, err = v.openCache(); err != nil {
				return err
			}
			defer opt.Cache.Close()
			l, names, err := listenAt(listen)
			if err != nil {
				return err
			}
			if a, ok := l.Addr().(*net.TCPAddr); ok && tokenFile == "" && !noToken && !strings.HasSuffix(listen, ":0") {
				opt.Token = persistentToken(opt.Cache, a.Port)
			}
			if noToken && !isLocalOnly(l) {
				l.Close()
				return usageError("--no-token: found the address %s, expected an address of this machine only, or a socket",
					l.Addr())
			}
			opt.Hosts = append(opt.Hosts, names...)
			return a.runServer(c.Context(), opt, l, v.quiet, func(*serve.Server) {})
		},
	}
	v.register(c.Flags())
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0",
		"where to listen: HOST:PORT, or unix:PATH; port 0 is a free one")
	c.Flags().StringVar(&tokenFile, "token-file", "", "file with the token; weft creates the file if it does not exist")
	c.Flags().BoolVar(&noToken, "no-token", false, "do not require a token")
	c.Flags().StringSliceVar(&hosts, "host", nil, "additional host name under which browsers reach the server")
	return c
}

// listenAt listens at an address. It also returns the host names that requests may contain.
func listenAt(place string) (net.Listener, []string, error) {
	if path, ok := strings.CutPrefix(place, "unix:"); ok {
		if path == "" {
			return nil, nil, usageError("--listen %s: expected a path after unix:", place)
		}
		l, err := listenUnix(path)
		return l, nil, err
	}
	host, port, err := net.SplitHostPort(place)
	if err != nil {
		return nil, nil, usageError("--listen %s: expected HOST:PORT or unix:PATH", place)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return nil, nil, usageError("--listen %s: found the port %q, expected a number up to 65535", place, port)
	}
	l, err := net.Listen("tcp", place)
	if err != nil {
		return nil, nil, err
	}
	names := []string{host}
	if a, ok := l.Addr().(*net.TCPAddr); ok && a.IP.IsUnspecified() {
		// Web pages of another origin never have these names as host.
		names = nil
		if name, err := os.Hostname(); err == nil {
			names = append(names, name)
		}
		list, err := net.InterfaceAddrs()
		if err != nil {
			l.Close()
			return nil, nil, err
		}
		for _, x := range list {
			if n, ok := x.(*net.IPNet); ok {
				names = append(names, n.IP.String())
			}
		}
	}
	return l, names, nil
}

// listenUnix listens at a socket that only this user can access. It replaces a socket that a former
// server has left behind.
func listenUnix(path string) (net.Listener, error) {
	if st, err := os.Lstat(path); err == nil && st.Mode()&fs.ModeSocket != 0 {
		// If a server is overloaded or belongs to another user, Dial returns a different error.
		c, err := net.Dial("unix", path)
		if err == nil {
			c.Close()
		}
		if err == nil || !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: found a server that listens there, expected none", path)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	l, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EINVAL) {
		return nil, fmt.Errorf("%s: found a path of %s, expected a path that the system accepts for a socket (100 bytes)",
			path, plural.Of(len(path), "byte"))
	}
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// isLocalOnly reports whether only this machine can access a listener.
func isLocalOnly(l net.Listener) bool {
	a, ok := l.Addr().(*net.TCPAddr)
	return !ok || a.IP.IsLoopback()
}

// minToken is the least length of a secret.
const minToken = 16

// tokenLetters are the characters of secrets.
const tokenLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// persistentToken returns the secret of a server with a fixed port. The secret stays the same for all starts,
// so that links to the page stay valid. If the port is not fixed or the cache is not permanent, each start has
// a new secret.
func persistentToken(c *cache.Cache, port int) string {
	if port > 0 {
		if file := c.Secret(strconv.Itoa(port)); file != "" {
			if t, err := readOrCreateToken(file, false); err == nil {
				return t
			}
		}
	}
	return serve.NewToken()
}

// readOrCreateToken returns the secret in a file. If the file does not exist, it writes a new secret to it. If file
// is "", it returns a new secret. If none is set, it returns "".
func readOrCreateToken(file string, none bool) (string, error) {
	if none {
		return "", nil
	}
	if file == "" {
		return serve.NewToken(), nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		t := serve.NewToken()
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return "", err
		}
		_, err = fmt.Fprintln(f, t)
		return t, errors.Join(err, f.Close())
	}
	if err != nil {
		return "", err
	}
	st, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if m := st.Mode().Perm(); runtime.GOOS != "windows" && m&0o077 != 0 {
		return "", usageError("--token-file %s: found the mode %#o, expected a file that others cannot read (chmod 600)",
			file, m)
	}
	t := strings.TrimSpace(string(text))
	forbidden := func(r rune) bool { return !strings.ContainsRune(tokenLetters, r) }
	if len(t) < minToken || strings.ContainsFunc(t, forbidden) {
		return "", usageError("--token-file %s: expected at least %d letters, digits, - and _", file, minToken)
	}
	return t, nil
}
