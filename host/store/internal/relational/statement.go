package relational

// Statement is SQL that a connection compiles once. Statements are comparable:
// equal ones have equal SQL. Parameters are written $1, $2 and so on.
type Statement interface{ SQL(d Dialect) string }

// Dialect generates the SQL that differs between databases.
type Dialect interface {
	// Count returns a parameter of LIMIT or OFFSET.
	Count(parameter string) string
	// Unindexed returns a column for a condition that must not use an index.
	Unindexed(column string) string
	// Contains returns the condition that the text of a column contains a text.
	Contains(column, parameter string) string
	// JSON returns a text column that contains JSON as the left operand of ->>.
	JSON(column string) string
	// Next returns the statement that allocates the next number for the column seq of
	// a table. A transaction that can observe another one's number gets a greater one.
	Next(table string) string
	// ForUpdate returns the end of a SELECT that locks the row of a table, or of its
	// alias, until the transaction ends. Other transactions may read the row, but
	// neither lock nor change it.
	ForUpdate(table string) string
}

// Fixed is a statement that is the same in every dialect.
type Fixed string

// SQL returns the statement.
func (f Fixed) SQL(Dialect) string { return string(f) }

// next allocates the number of a new row of a table.
type next string

func (table next) SQL(d Dialect) string { return d.Next(string(table)) }

// locked is a statement that reads and locks a row in order to change it. The lock of
// a session's row also protects the session's transcripts.
type locked struct {
	read  Fixed
	table string
}

func (l locked) SQL(d Dialect) string { return string(l.read) + d.ForUpdate(l.table) }

func limit(d Dialect, parameter string) string { return " LIMIT " + d.Count(parameter) }
