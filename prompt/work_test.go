package prompt

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
)

// answered is the text that a filter makes of pieces of text, and what that allocated.
func answered(t *testing.T, filter model.AnswerFilter, pieces int, piece string) (length, allocated int) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for chunk, err := range filter(func(yield func(model.Chunk, error) bool) {
		for range pieces {
			if !yield(model.Chunk{Kind: model.ChunkText, Text: piece}, nil) {
				return
			}
		}
		yield(model.Chunk{Kind: model.ChunkFinish, Finish: parley.FinishStop}, nil)
	}) {
		if err != nil {
			t.Fatal(err)
		}
		length += len(chunk.Text)
	}
	runtime.ReadMemStats(&after)
	return length, int(after.TotalAlloc - before.TotalAlloc)
}

// White space that waits for a tag is neither copied for each piece nor kept without
// a bound; behind a tag it goes.
func TestWhiteSpaceWaitsForATag(t *testing.T) {
	filter, err := thinkTags{}.Request(t.Context(), model.Exchange{}, &model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	const pieces = 20_000
	piece := strings.Repeat(" ", 16)
	length, took := answered(t, filter, pieces, piece)
	if length != pieces*len(piece) || took > 50*length {
		t.Errorf("%d bytes became %d and allocated %d", pieces*len(piece), length, took)
	}
	waits, most := tagReader{yield: func(model.Chunk, error) bool { return true }}, 0
	for range pieces {
		waits.read(piece)
		most = max(most, waits.blank.Len())
	}
	if most > maxBlank {
		t.Errorf("%d bytes of white space waited", most)
	}
	for text, want := range map[string]int{
		strings.Repeat(" ", maxBlank) + "<think>":     0,
		strings.Repeat(" ", maxBlank+1) + "<think>":   maxBlank + 1,
		"<think>" + strings.Repeat(" ", 2*maxBlank):   0,
		"a" + strings.Repeat(" ", 2*maxBlank) + "b":   2*maxBlank + 2,
		"a<think>" + strings.Repeat(" ", maxBlank+9):  1,
		"<think>a</think>" + strings.Repeat(" ", 100): 1,
	} {
		if got, _ := answered(t, filter, 1, text); got != want {
			t.Errorf("%.12q of %d bytes became %d, want %d", text, len(text), got, want)
		}
	}
}

// An answer of brackets is read once: looking from each for its end would take hours.
func TestBracketsAreReadOnce(t *testing.T) {
	t.Parallel()
	filter := restoring(map[string]string{"[EMAIL_0123456789]": "ada@example.org"})
	if length, _ := answered(
		t,
		filter,
		1,
		strings.Repeat("[", parley.MaxAnswerBytes),
	); length != parley.MaxAnswerBytes {
		t.Errorf("it became %d bytes", length)
	}
	if length, _ := answered(t, filter, 1000, "[[EMAIL_0123456789]"); length != 1000*len("[ada@example.org") {
		t.Errorf("placeholders became %d bytes", length)
	}
}

// What filters leave out counts for the length of an answer too.
func TestFilteredAnswersAreBounded(t *testing.T) {
	t.Parallel()
	think := true
	layers, err := NewLayers(LayersInput{Settings: parley.MiddlewareSettings{ThinkTags: &think}})
	if err != nil {
		t.Fatal(err)
	}
	filter, err := layers.Request(t.Context(), model.Exchange{}, &model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	const empty = "<think></think>"
	taken := 0
	for _, err = range filter(func(yield func(model.Chunk, error) bool) {
		for yield(model.Chunk{Kind: model.ChunkText, Text: empty}, nil) && taken <= parley.MaxAnswerBytes {
			taken += len(empty)
		}
	}) {
		if err != nil {
			break
		}
	}
	if err == nil || taken > parley.MaxAnswerBytes {
		t.Errorf("%d bytes were taken: %v", taken, err)
	}
}

// A summary of ranges is read in bounds: each of them stands for a thousand numbers, and a summary may be megabytes.
func TestCitedRangesAreBounded(t *testing.T) {
	t.Parallel()
	const ranges = 2000
	var text strings.Builder
	for i := range int64(ranges) {
		first := i * 2 * widestCitation
		fmt.Fprintf(&text, "[%d-%d]", first, first+widestCitation)
	}
	room, sequences := mostCited, map[int64]bool{}
	cited(text.String(), sequences, &room)
	if room != 0 || len(sequences) != 2*ranges+mostCited {
		t.Errorf("%d numbers were counted, with room for %d more", len(sequences), room)
	}
}
