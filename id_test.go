package parley_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
)

func TestMintedIDsSortInTheOrderOfTheirMinting(t *testing.T) {
	t.Parallel()
	const n = 20_000 // more than the 12 counting bits hold in one millisecond
	previous := parley.NewID()
	for range n {
		next := parley.NewID()
		if previous.Compare(next) >= 0 {
			t.Fatalf("%s was minted before %s but does not sort before it", previous, next)
		}
		if previous.String() >= next.String() {
			t.Fatalf("the text forms %s and %s do not sort like the ids", previous, next)
		}
		previous = next
	}
}

func TestIDsAreUUIDv7(t *testing.T) {
	t.Parallel()
	before := parley.Now()
	id := parley.NewID()
	text := id.String()
	if len(text) != 36 || text[14] != '7' || !strings.ContainsRune("89ab", rune(text[19])) {
		t.Errorf("%s is not a UUIDv7: version and variant digits are %c and %c", text, text[14], text[19])
	}
	var stamp int64
	for _, b := range id[:6] {
		stamp = stamp<<8 | int64(b)
	}
	// Ids minted in bulk run ahead of the clock by at most a few milliseconds.
	if stamp < int64(before)-1 || stamp > int64(before)+60_000 {
		t.Errorf("the id's time is %d, minted at %d", stamp, before)
	}
}

func TestIDsMintedConcurrentlyDiffer(t *testing.T) {
	t.Parallel()
	const goroutines, each = 8, 2_000
	var (
		mu  sync.Mutex // guards all
		all []parley.ID
		wg  sync.WaitGroup
	)
	for range goroutines {
		wg.Go(func() { // ends by itself
			own := make([]parley.ID, each)
			for i := range own {
				own[i] = parley.NewID()
			}
			if !slices.IsSortedFunc(own, parley.ID.Compare) {
				t.Error("one goroutine's ids are out of order")
			}
			mu.Lock()
			all = append(all, own...)
			mu.Unlock()
		})
	}
	wg.Wait()
	slices.SortFunc(all, parley.ID.Compare)
	if len(slices.Compact(all)) != goroutines*each {
		t.Error("two ids are equal")
	}
}

func TestIDTextAndJSONRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var id parley.ID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
		if id.IsZero() {
			t.Skip("absent")
		}
		for _, text := range []string{id.String(), strings.ToUpper(id.String())} {
			parsed, err := parley.ParseID(text)
			if err != nil || parsed != id {
				t.Fatalf("ParseID(%q) = %s, %v; want %s", text, parsed, err, id)
			}
		}
		encoded, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		var decoded parley.ID
		if err := json.Unmarshal(encoded, &decoded); err != nil || decoded != id {
			t.Fatalf("%s came back as %s, %v", encoded, decoded, err)
		}
	})
}

func TestZeroIDIsAbsent(t *testing.T) {
	t.Parallel()
	var id parley.ID
	if !id.IsZero() || id.String() != "" {
		t.Errorf("the zero id reads %q", id.String())
	}
	encoded, err := json.Marshal(struct{ ID parley.ID }{})
	if err != nil || string(encoded) != `{"ID":null}` {
		t.Errorf("the zero id encodes as %s, %v; want null", encoded, err)
	}
	holder := struct{ ID parley.ID }{parley.NewID()}
	if err := json.Unmarshal([]byte(`{"ID":null}`), &holder); err != nil || !holder.ID.IsZero() {
		t.Errorf("null decodes as %s, %v; want the zero id", holder.ID, err)
	}
}

func TestParseIDRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":             "",
		"word":              "parley",
		"no hyphens":        "01976c1e7a4b7def8123456789abcdef",
		"braces":            "{01976c1e-7a4b-7def-8123-456789abcdef}",
		"hyphen moved":      "01976c1e7-a4b-7def-8123-456789abcdef",
		"too long":          "01976c1e-7a4b-7def-8123-456789abcdef0",
		"too short":         "01976c1e-7a4b-7def-8123-456789abcde",
		"no hexadecimal":    "01976c1e-7a4b-7def-8123-456789abcdeg",
		"sign":              "+1976c1e-7a4b-7def-8123-456789abcdef",
		"hyphen as a digit": "01976c1e-7a4b-7def-8123-45678-abcdef",
		"multibyte":         "01976c1e-7a4b-7def-8123-456789abcdé",
		"nil":               "00000000-0000-0000-0000-000000000000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, err := parley.ParseID(text)
			if parley.ErrorCode(err) != parley.CodeInvalid || !id.IsZero() {
				t.Errorf("ParseID(%q) = %s, %v; want the zero id and invalid", text, id, err)
			}
		})
	}
	for _, data := range []string{`""`, `7`, `"x"`, `{}`, `true`, `["01976c1e-7a4b-7def-8123-456789abcdef"]`} {
		var id parley.ID
		if err := json.Unmarshal([]byte(data), &id); err == nil {
			t.Errorf("%s decodes as the id %s", data, id)
		}
	}
}

func TestParseIDErrorIsBounded(t *testing.T) {
	t.Parallel()
	_, err := parley.ParseID(strings.Repeat("x", 1<<20))
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("the refusal of a megabyte is %d bytes long", len(err.Error()))
	}
}

func TestFirstID(t *testing.T) {
	t.Parallel()
	before := parley.Now()
	id := parley.NewID()
	if first := parley.FirstID(before); first.Compare(id) > 0 {
		t.Errorf("%s is not before %s, which was minted later", first, id)
	}
	if first := parley.FirstID(before + 3_600_000); first.Compare(id) <= 0 {
		t.Errorf("%s is not after %s, which was minted an hour before", first, id)
	}
}
