// Package zones is the world's time zones for machines without a zone database: a program that imports it has what
// time/tzdata gives, in an eighth of its size. Package time reads the machine's own database first.
package zones

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	_ "unsafe" // for go:linkname
)

// packed is the zone database of the Go that wrote it (make generate): a line for each zone, the size of its rules and
// its names; an empty line; then the rules, one zone's after the other's.
//
//go:embed zones.gz
var packed []byte

// register is the door of time/tzdata into package time.
//
//go:linkname register time.registerLoadFromEmbeddedTZData
func register(load func(name string) (rules string, err error))

func init() { //nolint:gochecknoinits // as time/tzdata
	register(load)
}

// unpacked is made at first use, which a machine with a zone database never comes to.
var unpacked = sync.OnceValues(func() (string, error) { //nolint:gochecknoglobals // set once
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	all, err := io.ReadAll(reader)
	return string(all), err
})

// load returns a zone's rules, ENOENT for other names.
func load(name string) (string, error) {
	all, err := unpacked()
	if err != nil {
		return "", err
	}
	index, rules, _ := strings.Cut(all, "\n\n")
	for line := range strings.Lines(index) {
		digits, names, _ := strings.Cut(strings.TrimSpace(line), " ")
		size, err := strconv.Atoi(digits)
		if err != nil || size > len(rules) {
			return "", fmt.Errorf("the packed time zones are damaged: %q", line)
		}
		if slices.Contains(strings.Fields(names), name) {
			return rules[:size], nil
		}
		rules = rules[size:]
	}
	return "", syscall.ENOENT
}
