package main

import (
	"errors"
	"fmt"
	"strings"
)

// idArg names a flow, a run or a delivery.
type idArg struct {
	ID string `arg:"" help:"The id, or as much of it as tells it apart."`
}

// Validate refuses no id at all, which every id begins with.
func (c *idArg) Validate() error {
	if strings.TrimSpace(c.ID) == "" {
		return errors.New("the id is blank: write it, or as much of it as tells it apart")
	}
	return nil
}

// shortID is how much of an id a table shows at least.
const shortID = 10

// shortIDs shortens ids as far as they stay apart.
func shortIDs(ids []string) map[string]string {
	n, longest := shortID, 0
	for _, id := range ids {
		longest = max(longest, len(id))
	}
	for ; n < longest; n++ {
		if seen := make(map[string]bool, len(ids)); distinct(ids, n, seen) {
			break
		}
	}
	short := make(map[string]string, len(ids))
	for _, id := range ids {
		short[id] = id[:min(n, len(id))]
	}
	return short
}

func distinct(ids []string, n int, seen map[string]bool) bool {
	for _, id := range ids {
		s := id[:min(n, len(id))]
		if seen[s] {
			return false
		}
		seen[s] = true
	}
	return true
}

// completeID returns the one id that begins so. A text that no id begins with is
// returned as it is: it may be an id that is not among them.
func completeID(text string, ids []string) (string, error) {
	var found []string
	for _, id := range ids {
		if id == text {
			return id, nil
		}
		if strings.HasPrefix(id, text) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return text, nil
	case 1:
		return found[0], nil
	}
	const most = 5
	more := ""
	if len(found) > most {
		found, more = found[:most], " …"
	}
	return "", usage(fmt.Errorf("%s: several ids begin so: %s%s: write more of it", text, strings.Join(found, " "), more))
}

// idsOf returns the ids of rows.
func idsOf[T any](rows []T, id func(T) string) []string {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = id(r)
	}
	return ids
}
