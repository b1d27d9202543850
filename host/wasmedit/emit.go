package wasmedit

import "encoding/binary"

// appendOpcode appends the opcode, with its prefix byte if it has one.
func (op opcode) appendOpcode(out []byte) []byte {
	if op < 0x100 {
		return append(out, byte(op))
	}
	return binary.AppendUvarint(append(out, byte(op>>8)), uint64(op&0xff))
}

// append appends the opcode and an unsigned operand.
func (op opcode) append(out []byte, index uint64) []byte {
	return binary.AppendUvarint(op.appendOpcode(out), index)
}

// appendSigned appends the opcode and a signed operand.
func (op opcode) appendSigned(out []byte, v int64) []byte {
	out = op.appendOpcode(out)
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// append appends the entry of the type section.
func (f FuncType) append(out []byte) []byte {
	out = append(out, 0x60)
	for _, list := range [][]ValueType{f.Params, f.Results} {
		out = binary.AppendUvarint(out, uint64(len(list)))
		for _, t := range list {
			out = append(out, byte(t))
		}
	}
	return out
}

// find returns the section with this id, or nil.
func (m *Module) find(id byte) *section {
	for i := range m.sections {
		if m.sections[i].id == id {
			return &m.sections[i]
		}
	}
	return nil
}

// extend appends n elements to the vector of a section, and creates the section if it
// is missing.
func (m *Module) extend(id byte, n int, elements []byte) {
	if n == 0 {
		return
	}
	var had uint64
	var rest []byte
	if s := m.find(id); s != nil {
		width := 0
		had, width = binary.Uvarint(s.body)
		rest = s.body[width:]
	}
	body := binary.AppendUvarint(nil, had+uint64(n))
	m.put(id, append(append(body, rest...), elements...))
}
