package post

import (
	"errors"
	"net/url"
	"strings"
)

// Base checks the base address of a service and returns it without a trailing slash. It
// returns fallback if the address is empty.
func Base(address, fallback string) (string, error) {
	if address == "" {
		return fallback, nil
	}
	u, err := Address(address)
	if err != nil {
		return "", err
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the address must have no query and no fragment")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// Address parses an absolute HTTP address. Its error does not contain the address, which
// may contain a secret.
func Address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the address must begin with http:// or https:// and name a host")
	}
	return u, nil
}

// TrimPrefixes removes the prefixes, such as "telegram:", that may precede the id of a
// recipient. It ignores case.
func TrimPrefixes(to string, prefixes ...string) string {
	for again := true; again; {
		again = false
		for _, p := range prefixes {
			if len(to) > len(p) && strings.EqualFold(to[:len(p)], p) {
				to, again = to[len(p):], true
			}
		}
	}
	return to
}
