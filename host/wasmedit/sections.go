package wasmedit

// parseSection reads the parts of a section that this package uses. It returns the
// number of entries of the section. The reader keeps the error.
func (m *Module) parseSection(r *reader, id byte) int {
	r.checkEntries(id)
	n := 0
	switch id {
	case idCustom:
		m.Customs = append(m.Customs, r.name())
		return 0
	case idType:
		n = each(r, 3, func() { m.Types = append(m.Types, m.funcType(r)) })
	case idImport:
		n = each(r, 4, func() { m.Imports = append(m.Imports, m.readImport(r)) })
	case idFunction:
		n = each(r, 1, func() { m.functions = append(m.functions, m.typeIndex(r)) })
	case idTable:
		n = each(r, 3, func() { m.Tables = append(m.Tables, r.table()) })
	case idMemory:
		n = each(r, 2, func() { m.Memories = append(m.Memories, r.limits()) })
	case idExport:
		names := map[string]bool{}
		n = each(r, 3, func() { m.readExport(r, names) })
	case idStart:
		m.readStart(r)
	case idCode:
		n = each(r, 3, func() { r.bytes(r.count(1)) })
	case idGlobal:
		n = each(r, 4, func() { m.readGlobal(r) })
	case idElement:
		n = each(r, 2, func() { m.readElement(r) })
	case idData:
		n = each(r, 2, func() { m.readData(r) })
	default:
		return r.count(0)
	}
	if !r.done() {
		r.fail(r.pos, "%d bytes are left at the end of the %s section", len(r.data)-r.pos, sectionNames[id])
	}
	return n
}

// each reads a vector whose elements take at least size bytes, and returns its length.
// It calls read for each element.
func each(r *reader, size int, read func()) int {
	n := r.count(size)
	for range n {
		if r.err != nil {
			return 0
		}
		read()
	}
	return n
}

func (m *Module) funcType(r *reader) FuncType {
	at := r.pos
	if form := r.byte(); form != 0x60 {
		r.fail(at, "type form 0x%02x is not supported, only functions (0x60)", form)
	}
	return FuncType{Params: r.valueTypes(), Results: r.valueTypes()}
}

func (r *reader) valueTypes() []ValueType {
	var types []ValueType
	each(r, 1, func() { types = append(types, r.valueType()) })
	return types
}

func (r *reader) valueType() ValueType {
	at := r.pos
	t := ValueType(r.byte())
	switch t {
	case I32, I64, F32, F64, V128, FuncRef, ExternRef:
	default:
		r.fail(at, "unknown value type 0x%02x", byte(t))
	}
	return t
}

func (m *Module) typeIndex(r *reader) uint32 {
	at := r.pos
	i := r.u32()
	if r.err == nil && uint64(i) >= uint64(len(m.Types)) {
		r.fail(at, "type index %d, but there are %d types", i, len(m.Types))
	}
	return i
}

func (r *reader) table() Limits {
	r.refType()
	return r.limits()
}

func (r *reader) refType() {
	at := r.pos
	if t := r.valueType(); t != FuncRef && t != ExternRef {
		r.fail(at, "%s is not a reference type", t)
	}
}

func (r *reader) limits() Limits {
	at := r.pos
	flags := r.byte()
	if flags > 7 {
		r.fail(at, "unknown limit flags 0x%02x", flags)
	}
	l := Limits{HasMax: flags&1 != 0, Shared: flags&2 != 0, Is64: flags&4 != 0}
	bits := 32
	if l.Is64 {
		bits = 64
	}
	l.Min = r.uint(bits)
	if l.HasMax {
		if l.Max = r.uint(bits); l.Max < l.Min {
			r.fail(at, "the maximum %d is below the minimum %d", l.Max, l.Min)
		}
	}
	return l
}

func (m *Module) readImport(r *reader) Import {
	i := Import{Module: r.name(), Name: r.name()}
	at := r.pos
	switch i.Kind = Kind(r.byte()); i.Kind {
	case KindFunc:
		t := m.typeIndex(r)
		if r.err == nil {
			i.Type = m.Types[t]
			m.functions = append(m.functions, t)
			m.imported++
		}
	case KindTable:
		m.indirectImports = true // the table may contain imported functions
		m.Tables = append(m.Tables, r.table())
	case KindMemory:
		m.Memories = append(m.Memories, r.limits())
	case KindGlobal:
		m.Globals = append(m.Globals, r.global())
	default:
		r.fail(at, "unknown kind %d of an import", byte(i.Kind))
	}
	return i
}

func (r *reader) global() Global {
	g := Global{Type: r.valueType()}
	at := r.pos
	mutable := r.byte()
	if mutable > 1 {
		r.fail(at, "unknown mutability 0x%02x of a global", mutable)
	}
	g.Mutable = mutable == 1
	return g
}

func (m *Module) readGlobal(r *reader) {
	g := r.global()
	m.constant(r) // the expression may refer only to preceding globals
	m.Globals = append(m.Globals, g)
}

// readElement reads an element segment. The flags are, from bit 0: the segment is
// passive or declarative; the table, element kind or type is explicit; the elements are
// expressions.
func (m *Module) readElement(r *reader) {
	at := r.pos
	flags := r.u32()
	if flags > 7 {
		r.fail(at, "unknown kind %d of an element segment", flags)
		return
	}
	inactive, explicit, expressions := flags&1 != 0, flags&2 != 0, flags&4 != 0
	if !inactive {
		if explicit {
			r.u32() // table
		}
		m.constant(r)
	}
	if inactive || explicit {
		if expressions {
			r.refType()
		} else if at := r.pos; r.byte() != 0 {
			r.fail(at, "unknown kind of elements")
		}
	}
	if expressions {
		each(r, 2, func() { m.constant(r) })
	} else {
		each(r, 1, func() { m.noteReference(m.indexBelow(r, len(m.functions), "function")) })
	}
}

// noteReference sets indirectImports if the function is imported. Its callers pass each
// function that an export, a global or an element segment names, because code can put
// only these functions into a table (ref.func).
func (m *Module) noteReference(function uint32) {
	if function < m.imported {
		m.indirectImports = true
	}
}

// readData reads a data segment. Its flags are 0 (active), 1 (passive) or 2 (active,
// with a memory index).
func (m *Module) readData(r *reader) {
	at := r.pos
	flags := r.u32()
	if flags > 2 {
		r.fail(at, "unknown kind %d of a data segment", flags)
		return
	}
	if flags == 2 {
		r.u32()
	}
	if flags != 1 {
		m.constant(r)
	}
	r.bytes(r.count(1))
}

func (m *Module) readExport(r *reader, names map[string]bool) {
	at := r.pos
	e := Export{Name: r.name(), Kind: Kind(r.byte()), Index: r.u32()}
	if r.err != nil {
		return
	}
	if names[e.Name] {
		r.fail(at, "two exports are called %q", e.Name)
		return
	}
	names[e.Name] = true
	var have uint64
	switch e.Kind {
	case KindFunc:
		have = uint64(len(m.functions))
	case KindTable:
		have = uint64(len(m.Tables))
	case KindMemory:
		have = uint64(len(m.Memories))
	case KindGlobal:
		have = uint64(len(m.Globals))
	default:
		r.fail(at, "unknown kind %d of the export %q", byte(e.Kind), e.Name)
		return
	}
	if uint64(e.Index) >= have {
		r.fail(at, "the export %q is %s %d, but there are %d", e.Name, e.Kind, e.Index, have)
		return
	}
	switch e.Kind {
	case KindFunc:
		e.Type = m.Types[m.functions[e.Index]]
		m.noteReference(e.Index)
	case KindTable:
		m.indirectImports = true // the host may put imported functions into the table
	}
	m.Exports = append(m.Exports, e)
}

func (m *Module) readStart(r *reader) {
	at := r.pos
	i := r.u32()
	switch {
	case r.err != nil:
	case uint64(i) >= uint64(len(m.functions)):
		r.fail(at, "the start function is %d, but there are %d functions", i, len(m.functions))
	case !m.Types[m.functions[i]].Equal(FuncType{}):
		r.fail(at, "the start function has the signature %s, not () -> ()", m.Types[m.functions[i]])
	default:
		m.Start = &i
	}
}
