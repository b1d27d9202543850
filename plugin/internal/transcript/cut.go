package transcript

import (
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/plugin/internal/view"
)

// enter extends the path by a member's name, when paths matter, and returns what
// leave takes back.
func (s *Sanitizer) enter(name string) (mark int) {
	mark = len(s.path)
	if len(s.cuts) == 0 {
		return mark
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
	return mark
}

// enterIndex extends the path by an element's index.
func (s *Sanitizer) enterIndex(i int) (mark int) {
	mark = len(s.path)
	if len(s.cuts) > 0 {
		s.path = strconv.AppendInt(append(s.path, '/'), int64(i), 10)
	}
	return mark
}

func (s *Sanitizer) leave(mark int) { s.path = s.path[:mark] }

// skip leaves out the value at the path; what the host cut inside it is no longer
// missing from the output.
func (s *Sanitizer) skip() {
	path := view.String(s.path)
	for i := range s.cuts {
		p := s.cuts[i].Path
		if strings.HasPrefix(p, path) && (len(p) == len(path) || p[len(path)] == '/') {
			s.left--
		}
	}
}
