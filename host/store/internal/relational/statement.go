package relational

// Statement is SQL that a connection compiles once. Statements are comparable:
// equal ones have equal SQL. Parameters are written $1, $2 and so on.
type Statement interface{ SQL(d Dialect) string }

// Dialect is how a database writes the few things that databases write
// differently. Its methods return SQL.
type Dialect interface {
	// Count returns a parameter of LIMIT or OFFSET.
	Count(parameter string) string
	// Unindexed returns a column in a condition for which no index is to be chosen.
	Unindexed(column string) string
	// Contains returns the condition that the text of a column contains a text.
	Contains(column, parameter string) string
	// JSON returns a column of JSON, stored as text, as the left operand of ->>.
	JSON(column string) string
	// Next returns the statement that draws the next number for the column seq of a
	// table. Numbers drawn in later transactions are greater, as far as anyone can
	// observe their order.
	Next(table string) string
	// ForUpdate returns the end of a SELECT that locks the row of a table, or of its
	// alias, until the transaction ends: others may read it, and neither lock nor
	// change it.
	ForUpdate(table string) string
}

// Fixed is a statement that every dialect has.
type Fixed string

// SQL returns the statement.
func (f Fixed) SQL(Dialect) string { return string(f) }

// next draws a number for a row of a table.
type next string

func (table next) SQL(d Dialect) string { return d.Next(string(table)) }

// locked is a statement that reads a row to decide on a change. A session's row
// locks what belongs to the session too.
type locked struct {
	read  Fixed
	table string
}

func (l locked) SQL(d Dialect) string { return string(l.read) + d.ForUpdate(l.table) }

func limit(d Dialect, parameter string) string { return " LIMIT " + d.Count(parameter) }
