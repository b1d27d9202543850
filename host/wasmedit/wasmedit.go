// Package wasmedit reads and rewrites WebAssembly modules (core specification, binary
// format version 1). It imports only the standard library, because the build of the
// plugin uses it before other dependencies are available.
//
// A Module keeps the original bytes of every section in addition to the parsed
// contents. A rewrite replaces the sections that it changes; Encode writes the others
// byte for byte. Parse accepts arbitrary bytes: for malformed input it returns an
// *Error with the offset and does not panic. Parse checks every count in the module
// against the remaining bytes before it uses the count. Parse and Instrument also
// return an *Error for a module beyond the bounds of bounds.go, because reading or
// compiling it could take too much time or memory.
//
// Parse checks the structure of a module (sections, indices, names, sizes). It does not
// validate code; the engine that compiles the module does.
package wasmedit

import "fmt"

// Error describes a malformed or oversized module.
type Error struct {
	Offset int // bytes from the start of the module
	Reason string
	Large  bool // the module exceeds a bound; it may be well-formed
}

func (e *Error) Error() string {
	return fmt.Sprintf("at byte %d: %s", e.Offset, e.Reason)
}

func errorAt(at int, format string, args ...any) *Error {
	return &Error{Offset: at, Reason: fmt.Sprintf(format, args...)}
}

// Module is a parsed module. The exported fields describe the module. Encode does not
// read them, so only methods can change the module.
type Module struct {
	Types    []FuncType
	Imports  []Import
	Tables   []Limits // imported ones first
	Memories []Limits // imported ones first; in pages of 64 KiB
	Globals  []Global // imported ones first
	Exports  []Export
	Start    *uint32  // index of the start function; nil: none
	Customs  []string // names of the custom sections, in order

	functions       []uint32 // type index of each function, imported ones first
	imported        uint32   // number of imported functions
	indirectImports bool     // an indirect call may reach an imported function
	sections        []section
}

// section is one section of the encoded module.
type section struct {
	id   byte
	body []byte
	at   int // offset of the body in the module
}

// Section ids.
const (
	idCustom    = 0
	idType      = 1
	idImport    = 2
	idFunction  = 3
	idTable     = 4
	idMemory    = 5
	idGlobal    = 6
	idExport    = 7
	idStart     = 8
	idElement   = 9
	idCode      = 10
	idData      = 11
	idDataCount = 12
)

// rank is a section's position in the order that the specification requires.
var rank = [...]int{
	idType: 1, idImport: 2, idFunction: 3, idTable: 4, idMemory: 5, idGlobal: 6, idExport: 7,
	idStart: 8, idElement: 9, idDataCount: 10, idCode: 11, idData: 12,
}

var sectionNames = [...]string{
	"custom", "type", "import", "function", "table", "memory", "global",
	"export", "start", "element", "code", "data", "data count",
}

const header = "\x00asm\x01\x00\x00\x00"

// Parse reads a module. The Module refers to wasm, which the caller must not modify
// while it uses the Module.
func Parse(wasm []byte) (*Module, error) {
	if err := checkHeader(wasm); err != nil {
		return nil, err
	}
	m := &Module{}
	r := &reader{data: wasm, pos: len(header)}
	var last, bodies int
	for !r.done() {
		start := r.pos
		id := r.byte()
		size := r.u32()
		body := r.bytes(int(size))
		if r.err != nil {
			return nil, r.err
		}
		if int(id) >= len(sectionNames) {
			return nil, errorAt(start, "unknown section id %d", id)
		}
		if id != idCustom {
			if rank[id] <= last {
				return nil, errorAt(start, "the %s section is repeated or out of order", sectionNames[id])
			}
			last = rank[id]
		}
		if len(m.sections) == maxSections {
			return nil, tooMany(start, maxSections+1, "sections", maxSections)
		}
		m.sections = append(m.sections, section{id, body, r.pos - len(body)})
		s := &reader{data: wasm[:r.pos], pos: r.pos - len(body)}
		n := m.parseSection(s, id)
		if id == idCode {
			bodies = n
		}
		if s.err != nil {
			return nil, s.err
		}
	}
	if own := len(m.functions) - m.count(KindFunc); own != bodies {
		return nil, errorAt(len(wasm), "%d functions are declared and %d have code", own, bodies)
	}
	return m, nil
}

func checkHeader(wasm []byte) *Error {
	switch {
	case len(wasm) < 4 || string(wasm[:4]) != header[:4]:
		return errorAt(0, `not a WebAssembly module: it does not begin with "\0asm"`)
	case len(wasm) < len(header):
		return errorAt(len(wasm), "the module ends inside its header")
	case string(wasm[4:8]) == "\x0d\x00\x01\x00":
		return errorAt(4, "this is a WebAssembly component, not a core module")
	case string(wasm[:8]) != header:
		return errorAt(4, "binary format version % x is not supported, only 01 00 00 00", wasm[4:8])
	}
	return nil
}

// count returns the number of imports of a kind.
func (m *Module) count(kind Kind) int {
	n := 0
	for i := range m.Imports {
		if m.Imports[i].Kind == kind {
			n++
		}
	}
	return n
}

// Export returns the export with this name, or nil.
func (m *Module) Export(name string) *Export {
	for i := range m.Exports {
		if m.Exports[i].Name == name {
			return &m.Exports[i]
		}
	}
	return nil
}
