package engine_test

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// TestLargeImportsAreReadOneByOne: a file beyond what a request may hold is uploaded before; its memory is counted
// before it is read, and no other large file is read meanwhile.
func TestLargeImportsAreReadOneByOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	upload := func(size int) parley.ID {
		chat := `{"entries":[{"role":"user","content":"Plan it.","timestamp":"2026-01-02T10:00:00Z"}]}`
		chat += strings.Repeat(" ", size-len(chat))
		file, _, err := h.UploadFile(t.Context(), h.member, "chat.json", strings.NewReader(chat))
		if err != nil {
			t.Fatal(err)
		}
		return file.ID
	}
	large, small, huge := upload(engine.MaxImportText+1), upload(1000), upload(engine.MaxImportBytes+1)
	run := func(id parley.ID, hold func(int64) error) error {
		_, err := h.ImportSessions(t.Context(), h.member, engine.ImportInput{FileID: id, Hold: hold})
		return err
	}
	var held []int64
	err := run(large, func(bytes int64) error {
		if held = append(held, bytes); len(held) == 2 { // it has been read
			if err := run(large, nil); parley.ErrorCode(err) != parley.CodeRateLimited {
				t.Errorf("a second large file meanwhile: %v", err)
			}
			if err := run(small, nil); err != nil {
				t.Errorf("a small file meanwhile: %v", err)
			}
		}
		return nil
	})
	if err != nil || len(held) != 2 || held[0] != engine.MaxImportText+1 {
		t.Errorf("the large file counts %v: %v", held, err)
	}
	full := parley.Errorf(parley.CodeRateLimited, "Too many imports are being read. Try again later.")
	for round := range 2 { // before it is read, and after
		held = nil
		if err := run(large, func(bytes int64) error {
			if held = append(held, bytes); len(held) == round+1 {
				return full
			}
			return nil
		}); err == nil || err.Error() != full.Error() {
			t.Errorf("without room: %v", err)
		}
	}
	if err := run(large, nil); err != nil {
		t.Errorf("once there is room: %v", err)
	}
	if err := run(huge, nil); parley.ErrorCode(err) != parley.CodeTooLarge {
		t.Errorf("a huge file: %v", err)
	}
	text := strings.Repeat(" ", engine.MaxImportText+1)
	_, err = h.ImportSessions(t.Context(), h.member, engine.ImportInput{Text: text})
	if parley.ErrorCode(err) != parley.CodeTooLarge {
		t.Errorf("a long text: %v", err)
	}
}
