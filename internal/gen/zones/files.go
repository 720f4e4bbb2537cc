// Package zones packs Go's copy of the time zone database for internal/zones.
package zones

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const written = "internal/zones/zones.gz"

// Files returns the packed zones by their path below the module's root. Zones with several names stand once, and those
// with similar rules side by side, which compresses best.
func Files(string) (map[string][]byte, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output() //nolint:noctx // ends by itself
	if err != nil {
		return nil, err
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib/time/zoneinfo.zip"))
	if err != nil {
		return nil, err
	}
	defer archive.Close() //nolint:errcheck // only read
	names := map[string][]string{}
	for _, file := range archive.File {
		rules, err := read(file)
		if err != nil {
			return nil, err
		}
		if len(rules) > 0 { // not a folder
			names[rules] = append(names[rules], file.Name)
		}
	}
	var index, all strings.Builder
	for _, rules := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&index, "%d %s\n", len(rules), strings.Join(names[rules], " "))
		all.WriteString(rules)
	}
	var packed bytes.Buffer
	packer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(packer, "%s\n%s", index.String(), all.String())
	err = packer.Close()
	return map[string][]byte{written: packed.Bytes()}, err
}

func read(file *zip.File) (string, error) {
	opened, err := file.Open()
	if err != nil {
		return "", err
	}
	defer opened.Close() //nolint:errcheck // only read
	rules, err := io.ReadAll(opened)
	return string(rules), err
}
