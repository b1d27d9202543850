package transcript

import (
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/plugin/internal/view"
)

// enter appends a member's name to the path, a JSON Pointer, if the message has
// truncations. It returns the length of the parent's path, which the caller must pass to leave.
func (s *Sanitizer) enter(name string) (parent int) {
	parent = len(s.path)
	if len(s.truncations) == 0 {
		return parent
	}
	s.path = append(s.path, '/')
	for i := 0; i < len(name); i++ {
		switch c := name[i]; c {
		case '~':
			s.path = append(s.path, '~', '0')
		case '/':
			s.path = append(s.path, '~', '1')
		default:
			s.path = append(s.path, c)
		}
	}
	return parent
}

// enterIndex appends an element's index to the path.
func (s *Sanitizer) enterIndex(i int) (parent int) {
	parent = len(s.path)
	if len(s.truncations) > 0 {
		s.path = strconv.AppendInt(append(s.path, '/'), int64(i), 10)
	}
	return parent
}

// leave restores the path to its length before enter.
func (s *Sanitizer) leave(parent int) { s.path = s.path[:parent] }

// skip records that the value at the path is left out. The host's truncations inside it
// no longer affect the output.
func (s *Sanitizer) skip() {
	path := view.String(s.path)
	for i := range s.truncations {
		p := s.truncations[i].Path
		if strings.HasPrefix(p, path) && (len(p) == len(path) || p[len(path)] == '/') {
			s.left--
		}
	}
}
