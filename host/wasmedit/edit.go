package wasmedit

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Encode returns the encoded module. Unchanged sections keep their bytes.
func (m *Module) Encode() []byte {
	size := len(header)
	for _, s := range m.sections {
		size += 1 + binary.MaxVarintLen32 + len(s.body)
	}
	out := append(make([]byte, 0, size), header...)
	for _, s := range m.sections {
		out = append(out, s.id)
		out = binary.AppendUvarint(out, uint64(len(s.body)))
		out = append(out, s.body...)
	}
	return out
}

// StartFromExport makes an exported function the module's start function, and drops the
// export. Every runtime calls the start function at instantiation, but only some
// runtimes call the _initialize export of a reactor. StartFromExport fails without
// changes if the export is missing, is not a function () -> (), or if the module
// already has a start function.
func (m *Module) StartFromExport(name string) error {
	e := m.Export(name)
	switch {
	case e == nil:
		return fmt.Errorf("wasmedit: start from export: there is no export %q", name)
	case e.Kind != KindFunc || !e.Type.Equal(FuncType{}):
		return fmt.Errorf("wasmedit: the export %s cannot be a start function, which is () -> ()", e)
	case m.Start != nil:
		return fmt.Errorf("wasmedit: function %d is the start function already; %q cannot be a second one", *m.Start, name)
	}
	index := e.Index
	m.Start = &index
	m.put(idStart, binary.AppendUvarint(nil, uint64(index)))
	m.Exports = slices.DeleteFunc(m.Exports, func(e Export) bool { return e.Name == name })
	m.put(idExport, m.encodeExports())
	return nil
}

// KeepExports drops all exports except the named ones.
func (m *Module) KeepExports(names ...string) {
	m.Exports = slices.DeleteFunc(m.Exports, func(e Export) bool { return !slices.Contains(names, e.Name) })
	m.put(idExport, m.encodeExports())
}

func (m *Module) encodeExports() []byte {
	b := binary.AppendUvarint(nil, uint64(len(m.Exports)))
	for _, e := range m.Exports {
		b = binary.AppendUvarint(b, uint64(len(e.Name)))
		b = append(b, e.Name...)
		b = append(b, byte(e.Kind))
		b = binary.AppendUvarint(b, uint64(e.Index))
	}
	return b
}

// put replaces the section with this id, or inserts it in the order that the
// specification requires.
func (m *Module) put(id byte, body []byte) {
	at := 0
	for i, s := range m.sections {
		if s.id == idCustom {
			continue
		}
		if s.id == id {
			m.sections[i].body = body
			return
		}
		if rank[s.id] < rank[id] {
			at = i + 1
		}
	}
	m.sections = slices.Insert(m.sections, at, section{id: id, body: body})
}

// remove drops the section with this id.
func (m *Module) remove(id byte) {
	m.sections = slices.DeleteFunc(m.sections, func(s section) bool { return s.id == id })
}
