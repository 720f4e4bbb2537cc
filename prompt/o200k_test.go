package prompt

import (
	"bytes"
	"compress/gzip"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write o200k.gz from the vocabulary of another implementation")

// TestO200kTokens compares the tokens with those of another implementation.
func TestO200kTokens(t *testing.T) {
	t.Parallel()
	oracle, want := codec.NewO200kBase(), []string(nil)
	for {
		token, err := oracle.Decode([]uint{uint(len(want))})
		if err != nil {
			break
		}
		want = append(want, token)
	}
	if *update {
		o200kTokens = packedTokens(t, want)
		if err := os.WriteFile("o200k.gz", o200kTokens, 0o644); err != nil { //nolint:gosec // a part of the program
			t.Fatal(err)
		}
	}
	ranks, err := o200k()
	if err != nil || len(ranks) != len(want) || len(want) < 199_000 {
		t.Fatalf("%d tokens, the oracle has %d: %v", len(ranks), len(want), err)
	}
	for rank, token := range want {
		if ranks[token] != rank {
			t.Fatalf("%q has the rank %d; want %d", token, ranks[token], rank)
		}
	}
}

// packedTokens returns tokens, given by rank, in the form of o200kTokens.
func packedTokens(t *testing.T, tokens []string) []byte {
	t.Helper()
	const bytewise = 1 << 8
	ranks := make(map[string]int, len(tokens))
	for rank, token := range tokens {
		ranks[token] = rank
	}
	longer := len(tokens) - bytewise
	all := make([]byte, bytewise+6*longer)
	for rank, token := range tokens {
		if rank < bytewise {
			all[rank] = token[0]
			continue
		}
		halves := [2]int{rank, rank} // of all possible ones those whose later one is the earliest
		for i := 1; i < len(token); i++ {
			left, ok := ranks[token[:i]]
			right, also := ranks[token[i:]]
			if ok && also && max(left, right) < max(halves[0], halves[1]) {
				halves = [2]int{left, right}
			}
		}
		if halves[0] == rank {
			t.Fatalf("%q does not consist of two earlier tokens", token)
		}
		for i, half := range halves {
			for column, shift := range []int{16, 8, 0} {
				all[bytewise+(3*i+column)*longer+rank-bytewise] = byte(half >> shift)
			}
		}
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(all)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// TestO200kCounts: every text has as many tokens as another implementation counts.
func TestO200kCounts(t *testing.T) {
	t.Parallel()
	oracle := codec.NewO200kBase()
	same := func(t interface{ Errorf(string, ...any) }, text string) {
		got, err := countO200k(text)
		want, wrong := oracle.Count(text)
		if err != nil || wrong != nil || got != want {
			t.Errorf("%q has %d tokens (%v); want %d (%v)", text, got, err, want, wrong)
		}
	}
	for _, text := range []string{
		"", " ", "  ", "a", " a", "  a", "\n", " \n ", "\n\n  a", "a  \n b", "I'll don't WE'RE x'S", "1234567 12",
		"HelloWorld iPhone McDonald", "...//\r\n", "\u00a0\u00a0x",
		"\u2003 x", "\u0085x", "\u200b x", "日本語 한국어 ไทย", "e\u0301te\u0301", "👩‍👩‍👧‍👦 ok", "\t\tif (x) {\r\n\t}", "ǅ ʰ",
		strings.Repeat("a", 300), strings.Repeat(" ", 200) + "x",
	} {
		same(t, text)
	}
	alphabet := rapid.SampledFrom(
		[]rune("aAbZzéßǅʰ日ก\u0301 019٣½'sStTrRvVmMlLdD \t\r\n\v\f\u0085\u00a0\u2028\u200b/.,!_-=+€👍\x00\ufffd"),
	)
	rapid.Check(t, func(t *rapid.T) {
		same(t, string(rapid.SliceOfN(alphabet, 0, 60).Draw(t, "text")))
	})
	// The other implementation ignores U+007F; it is a token.
	rapid.Check(t, func(t *rapid.T) { same(t, strings.ReplaceAll(rapid.String().Draw(t, "any text"), "\x7f", "")) })
	if n, err := countO200k("\x7f"); n != 1 || err != nil {
		t.Errorf("U+007F has %d tokens (%v); want 1", n, err)
	}
}

func BenchmarkO200k(b *testing.B) {
	text := strings.Repeat(
		"When the process dies in the middle of an answer, the text that was streamed so far is kept. ",
		80,
	)
	oracle := codec.NewO200kBase()
	for name, count := range map[string]func(string) (int, error){"ours": countO200k, "theirs": oracle.Count} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := count(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
