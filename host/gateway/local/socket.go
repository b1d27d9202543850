package local

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// maxSocketPath is a length that every Unix accepts (limits: Linux 107 bytes, macOS 103).
const maxSocketPath = 100

// shortDir is the name prefix of the directories that listenShort creates.
const shortDir = "parley-"

// listen opens the socket at the path companion, next to the database. If that path is
// empty or too long, or listening there fails, for example because the file system does
// not support sockets, listen creates a directory for the socket under the runtime
// directory. clean removes the created files.
func listen(database, companion string) (l net.Listener, clean func(), err error) {
	if companion != "" && len(companion) <= maxSocketPath {
		if l, clean, err = listenCompanion(companion); err == nil {
			return l, clean, nil
		}
	}
	l, clean, second := listenShort()
	if second != nil {
		return nil, nil, fmt.Errorf("local: cannot create a socket for %s: %w", database, errors.Join(err, second))
	}
	return l, clean, nil
}

// listenCompanion creates the socket in a private directory, sets its mode, and moves it
// to path, so that other users can never access it, whatever the umask.
func listenCompanion(path string) (net.Listener, func(), error) {
	private, err := os.MkdirTemp(filepath.Dir(path), ".p")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(private)
	first := filepath.Join(private, "s")
	if len(first) > maxSocketPath {
		return nil, nil, fmt.Errorf("%s: the path is too long for a socket", first)
	}
	l, err := bind(first)
	if err != nil {
		return nil, nil, err
	}
	if err := os.Rename(first, path); err != nil {
		l.Close()
		return nil, nil, err
	}
	return renamed{l, path}, func() { os.Remove(path) }, nil
}

// listenShort creates the socket in a new private directory with a short path. The
// returned function removes both.
func listenShort() (net.Listener, func(), error) {
	base := os.Getenv("XDG_RUNTIME_DIR")
	if base == "" || len(base) > maxSocketPath-30 {
		base = os.TempDir()
	}
	dir, err := os.MkdirTemp(base, shortDir)
	if err != nil {
		return nil, nil, err
	}
	clean := func() { os.RemoveAll(dir) }
	path := filepath.Join(dir, "sock")
	if len(path) > maxSocketPath {
		clean()
		return nil, nil, fmt.Errorf("%s: the path is too long for a socket: set TMPDIR to a shorter one", path)
	}
	l, err := bind(path)
	if err != nil {
		clean()
		return nil, nil, err
	}
	return l, clean, nil
}

func bind(path string) (net.Listener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // clean removes the socket under its final name
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		os.Remove(path)
		return nil, err
	}
	return l, nil
}

// renamed is a listener whose socket was moved to path.
type renamed struct {
	net.Listener
	path string
}

func (r renamed) Addr() net.Addr { return &net.UnixAddr{Name: r.path, Net: "unix"} }

// removeStale removes the sockets that a killed owner left behind. Only the holder of the
// lock may call it. previous comes from the last notice, which may have been copied with
// another database. So removeStale removes previous.Socket only if previous names this
// database and the socket is in a directory that listenShort made.
func removeStale(database, companion string, previous *Info) {
	removeSocket(companion)
	dir := filepath.Dir(previous.Socket)
	if previous.Database != database || !strings.HasPrefix(filepath.Base(dir), shortDir) {
		return
	}
	if removeSocket(previous.Socket) {
		os.Remove(dir) // only if empty
	}
}

func removeSocket(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode().Type() == os.ModeSocket && os.Remove(path) == nil
}
