package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/plugin/wasm"
)

// builtIn is the number of the plugin itself, which is active before the first swap.
const builtIn = -1

// ending is the end of the plugin's error about a session that does not exist. Each build
// has in its place a text of the same length with the build's number.
const ending = "shows the sessions that do"

var numbered = regexp.MustCompile(`answers here is build (\d{4})$`)

// makeBuilds returns n builds of the plugin.
func makeBuilds(n int) (builds [][]byte, err error) {
	if !bytes.Contains(wasm.Parley, []byte(ending)) {
		return nil, fmt.Errorf("the plugin's error does not end with %q", ending)
	}
	for i := range n {
		number := fmt.Sprintf("answers here is build %04d", i)
		builds = append(builds, bytes.ReplaceAll(wasm.Parley, []byte(ending), []byte(number)))
	}
	return builds, nil
}

// buildOf returns the number of the build that returned this error about a session that
// does not exist.
func buildOf(text string) (int, error) {
	if m := numbered.FindStringSubmatch(text); m != nil {
		return strconv.Atoi(m[1])
	}
	if strings.HasSuffix(text, ending) {
		return builtIn, nil
	}
	return 0, fmt.Errorf("unexpected error text: %q", text)
}
