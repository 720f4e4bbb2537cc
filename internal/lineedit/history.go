package lineedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxEntries      = 1_000    // of a history
	maxEntry        = 16 << 10 // bytes of an entry; longer ones are not kept
	maxHistoryBytes = 1 << 20  // of the file that are read: its end

	historyFile = 0o600
	historyDir  = 0o700
)

// History is what was entered before, in a file that only its user may read: a line of JSON for each entry. Several
// programs may add to one file.
type History struct {
	path    string
	entries []string // the oldest first
}

// OpenHistory reads the history in a file, which need not exist. A file that is longer than a history is cut.
func OpenHistory(path string) (*History, error) {
	h := &History{path: path}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Mode().Perm()&^historyFile != 0 {
		if err := os.Chmod(path, historyFile); err != nil {
			return nil, err
		}
	}
	whole, err := h.readFile(info.Size())
	if err == nil && !whole {
		err = h.rewrite()
	}
	return h, err
}

// readFile reads the end of the file, and reports whether the history is all of it.
func (h *History) readFile(size int64) (whole bool, err error) {
	file, err := os.Open(h.path)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }() // only read
	from := max(0, size-maxHistoryBytes)
	text, err := io.ReadAll(io.NewSectionReader(file, from, maxHistoryBytes))
	if err != nil {
		return false, err
	}
	if from > 0 {
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	for line := range bytes.Lines(text) {
		var entry string
		if json.Unmarshal(line, &entry) == nil && keeps(entry) {
			h.entries = append(h.entries, entry)
		}
	}
	over := len(h.entries) - maxEntries
	if over > 0 {
		h.entries = slices.Clone(h.entries[over:])
	}
	return from == 0 && over <= 0, nil
}

// keeps reports whether an entry belongs in a history. One that begins with a space does not, as in shells.
func keeps(entry string) bool {
	return strings.TrimSpace(entry) != "" && entry[0] != ' ' && len(entry) <= maxEntry
}

// rewrite replaces the file.
func (h *History) rewrite() error {
	var text []byte
	for _, entry := range h.entries {
		text = append(text, line(entry)...)
	}
	fresh, err := os.CreateTemp(filepath.Dir(h.path), ".history-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = fresh.Write(text)
	if err = errors.Join(err, fresh.Close()); err == nil {
		err = os.Rename(fresh.Name(), h.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(fresh.Name()))
	}
	return nil
}

func line(entry string) []byte {
	text, err := json.Marshal(entry)
	if err != nil {
		return nil // a string always has JSON
	}
	return append(text, '\n')
}

// Add adds an entry, unless it repeats the last one.
func (h *History) Add(entry string) error {
	if !keeps(entry) || len(h.entries) > 0 && h.entries[len(h.entries)-1] == entry {
		return nil
	}
	if h.entries = append(h.entries, entry); len(h.entries) > maxEntries {
		h.entries = slices.Delete(h.entries, 0, 1)
	}
	if err := os.MkdirAll(filepath.Dir(h.path), historyDir); err != nil {
		return err
	}
	file, err := os.OpenFile(h.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, historyFile)
	if err != nil {
		return err
	}
	_, err = file.Write(line(entry)) // at once: other programs append too
	return errors.Join(err, file.Close())
}

// older shows the entry before the one that stands as the text.
func (e *Editor) older() {
	if h := e.options.History; h != nil && e.entry+1 < len(h.entries) {
		if e.entry < 0 {
			e.begun = e.text.text
		}
		e.entry++
		e.text.set(typeable(h.entries[len(h.entries)-1-e.entry]))
	}
}

// newer shows the next entry, and after the newest one what was typed.
func (e *Editor) newer() {
	switch {
	case e.entry < 0:
		return
	case e.entry == 0:
		e.text.set(e.begun)
	default:
		e.text.set(typeable(e.options.History.entries[len(e.options.History.entries)-e.entry]))
	}
	e.entry--
}
