// Package jsonobject reads and writes JSON objects by tables of their members. A row
// holds a member's name, its kind, its presence and the location of its value. One
// table is the encoder, decoder and strict check of a message. The package uses no
// reflection and compiles with TinyGo.
//
//	var targetMembers = jsonobject.New(
//		jsonobject.Required("channel", jsonobject.Name, func(t *Target) any { return &t.Channel }),
//		jsonobject.Optional("threadId", jsonobject.Text, func(t *Target) any { return &t.ThreadID }),
//	)
//
// A table reads in one of four modes, see Mode. It does not detect duplicate names and
// malformed JSON; package jsonstrict does.
//
// Values that are read share memory with the document. The caller must not change the
// document afterwards.
package jsonobject

import "github.com/tidwall/gjson"

// Table holds the members of the object T, in the order in which they are written. The
// code that does not depend on T is not generic, which keeps the guest's module small.
type Table[T any] struct {
	rows rows
	at   []func(*T) any
}

// maxMembers is the number of bits in which rows.read records the members that it has
// seen.
const maxMembers = 64

// New returns a table of members. It panics if there are more than 64.
func New[T any](members ...Member[T]) *Table[T] {
	if len(members) > maxMembers {
		panic("jsonobject: a table with more than 64 members")
	}
	t := &Table[T]{rows: make(rows, len(members)), at: make([]func(*T) any, len(members))}
	for i := range members {
		t.rows[i], t.at[i] = members[i].row, members[i].at
	}
	return t
}

// UpTo returns the part of the table that ends with the member last. It describes an
// earlier version of the object, without the members that follow.
func (t *Table[T]) UpTo(last string) *Table[T] {
	n := t.rows.find(last, 0) + 1
	return &Table[T]{rows: t.rows[:n], at: t.at[:n]}
}

// Member is one row of a table. Optional, Always and Required create rows.
type Member[T any] struct {
	row row
	at  func(*T) any
}

// Optional returns a member that is written unless its value is zero. The name must be
// plain ASCII. at returns the location of the value: a pointer to a string, int, int64,
// bool or []string; a pointer to a *int64, *bool or *float64, which is nil if absent; a
// pointer to a []byte with JSON text; or a Value. A Reader suffices if the table
// is used only to read.
func Optional[T any](name string, kind Kind, at func(*T) any) Member[T] {
	return Member[T]{row{name, kind, optional}, at}
}

// Always returns a member that is always written, but may be absent when read.
func Always[T any](name string, kind Kind, at func(*T) any) Member[T] {
	return Member[T]{row{name, kind, always}, at}
}

// Required returns a member that is always written, and must be present when read.
func Required[T any](name string, kind Kind, at func(*T) any) Member[T] {
	return Member[T]{row{name, kind, required}, at}
}

// Of returns a Value that reads and writes *v with the table.
func (t *Table[T]) Of(v *T) Value { return object[T]{t, v} }

type object[T any] struct {
	table *Table[T]
	v     *T
}

func (o object[T]) ReadJSON(v gjson.Result, mode Mode) *Problem { return o.table.Read(v, o.v, mode) }

func (o object[T]) AppendJSON(b []byte) []byte { return o.table.Append(b, o.v) }

// Read reads the object v into *to. Absent members leave their fields unchanged. In the
// mode Tolerant it reads the whole object even if it returns a problem.
func (t *Table[T]) Read(v gjson.Result, to *T, mode Mode) *Problem {
	return t.rows.read(v, mode, func(i int) any { return t.at[i](to) })
}

// Append appends the object's JSON.
func (t *Table[T]) Append(b []byte, from *T) []byte {
	b = append(b, '{')
	for i := range t.rows {
		b = t.rows[i].append(b, t.at[i](from))
	}
	return append(b, '}')
}

// Mode determines how strictly an object is read.
type Mode uint8

// The modes.
const (
	// Tolerant ignores unknown members and reads values of another kind as absent. It
	// refuses nothing, but reports a missing required member.
	Tolerant Mode = iota
	// Strict refuses unknown members, values of another kind, and objects without a
	// required member.
	Strict
	// Open is Strict, but ignores unknown members, which later versions may add.
	Open
	// Nullable is Strict, but reads a null member as absent.
	Nullable
)

// Reader is a value that reads itself from JSON.
type Reader interface {
	ReadJSON(v gjson.Result, mode Mode) *Problem
}

// Value is a member's value with its own encoding, such as a nested object.
type Value interface {
	Reader
	AppendJSON(b []byte) []byte
}
