// Package jsonobject reads and writes JSON objects by tables of their members: a row
// says what a member is called, what it must be, when it is there, and where its value
// goes. One table is the encoder, the decoder and the strict check of a message. It uses
// no reflection and compiles with TinyGo.
//
//	var targetMembers = jsonobject.New(
//		jsonobject.Required("channel", jsonobject.Name, func(t *Target) any { return &t.Channel }),
//		jsonobject.Optional("threadId", jsonobject.Text, func(t *Target) any { return &t.ThreadID }),
//	)
//
// A table reads in one of four modes, see Mode. The reader does not find repeated names
// and malformed JSON; package jsonstrict does.
//
// What is read shares memory with the document, which must not change afterwards.
package jsonobject

import "github.com/tidwall/gjson"

// Table is the members of the object T, in the order in which they are written. What
// does not depend on T is compiled once: a guest has to be small.
type Table[T any] struct {
	rows rows
	at   []func(*T) any
}

// maxMembers is how many bits rows.read has for the members that it has seen.
const maxMembers = 64

// New returns a table of members. It panics when there are more than 64.
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

// UpTo returns the table that ends with the member last: the object before it got further
// members.
func (t *Table[T]) UpTo(last string) *Table[T] {
	n := t.rows.find(last, 0) + 1
	return &Table[T]{rows: t.rows[:n], at: t.at[:n]}
}

// Member is one row of a table. Optional, Always and Required make rows.
type Member[T any] struct {
	row row
	at  func(*T) any
}

// Optional is a member that is written unless its value is zero. The name is plain
// ASCII. at returns where the value is: a pointer to a string, int, int64, bool or
// []string; a pointer to a *int64, *bool or *float64, which is nil when absent; a
// pointer to a []byte with JSON text; or a Value, of which reading alone needs no more
// than a Reader.
func Optional[T any](name string, kind Kind, at func(*T) any) Member[T] {
	return Member[T]{row{name, kind, optional}, at}
}

// Always is a member that is always written, but may be absent from what is read.
func Always[T any](name string, kind Kind, at func(*T) any) Member[T] {
	return Member[T]{row{name, kind, always}, at}
}

// Required is a member that is always written, and without which an object is refused.
func Required[T any](name string, kind Kind, at func(*T) any) Member[T] {
	return Member[T]{row{name, kind, required}, at}
}

// Of returns *v as a Value of the table.
func (t *Table[T]) Of(v *T) Value { return object[T]{t, v} }

type object[T any] struct {
	table *Table[T]
	v     *T
}

func (o object[T]) ReadJSON(v gjson.Result, mode Mode) *Problem { return o.table.Read(v, o.v, mode) }

func (o object[T]) AppendJSON(b []byte) []byte { return o.table.Append(b, o.v) }

// Read reads the object v. Members that are absent leave *to as it is. In the mode
// Tolerant all of the object is read even when a problem is returned.
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

// Mode is how an object is read.
type Mode uint8

// The modes.
const (
	// Tolerant passes over unknown members, reads values of another kind as absent, and
	// refuses nothing but reports a required member that is missing.
	Tolerant Mode = iota
	// Strict refuses unknown members, values of another kind, and an object that lacks a
	// required member.
	Strict
	// Open is Strict, but passes over unknown members: the document may get further ones.
	Open
	// Nullable is Strict, but a member that is null is absent.
	Nullable
)

// Reader is what can be read.
type Reader interface {
	ReadJSON(v gjson.Result, mode Mode) *Problem
}

// Value is a member's value of a form of its own, such as a nested object.
type Value interface {
	Reader
	AppendJSON(b []byte) []byte
}
