package prompt

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the tokens
	"fmt"
	"io"
	"math"
	"regexp"
	"sync"
	"unicode/utf8"
)

// o200kTokens are the tokens of o200k_base by rank, as OpenAI publishes them (https://github.com/openai/tiktoken, MIT):
// 256 tokens of one byte; then of each longer one the ranks of two earlier tokens that it consists of. The ranks stand
// in six columns, which compress best: the high, middle and low bytes of the first halves, then those of the second.
// Compressed they add 0.7 MB to the program; as a Go table they added six.
//
//go:embed o200k.gz
var o200kTokens []byte

// pieces splits a text as o200k_base does, except for what follows blanks: Go's expressions cannot look ahead, so the
// last group is a run of blanks for splitBlanks to cut. It is compiled on first use, because compiling takes a
// millisecond of a start.
var pieces = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // set once
	return regexp.MustCompile(
		`[^\r\n\pL\pN]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\pM]*[\p{Ll}\p{Lm}\p{Lo}\pM]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
			`[^\r\n\pL\pN]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\pM]+[\p{Ll}\p{Lm}\p{Lo}\pM]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
			`\pN{1,3}| ?[^` + blank + `\pL\pN]+[\r\n/]*|[` + blank + `]*[\r\n]+|([` + blank + `]+)`,
	)
})

// longestPiece is how much is merged at once, at quadratic cost. Only a text without a break for a kilobyte is cut
// there, and counted a token or two too high.
const longestPiece = 1 << 10

const blank = `\f\n\r\t\v\x{85}\pZ`

// o200k returns the rank of each token, read at first use.
var o200k = sync.OnceValues(func() (map[string]int, error) { //nolint:gochecknoglobals // set once
	unpacked, err := gzip.NewReader(bytes.NewReader(o200kTokens))
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(unpacked)
	if err != nil {
		return nil, err
	}
	const bytewise, columns = 1 << 8, 6
	if len(all) < bytewise || (len(all)-bytewise)%columns != 0 {
		return nil, fmt.Errorf("the tokens are cut off after %d bytes", len(all))
	}
	halves := all[bytewise:]
	longer := len(halves) / columns
	text := make([]byte, 0, 2<<20)            // the tokens one after the other
	ends := make([]int, 1, bytewise+longer+1) // where each ends there
	for rank := range bytewise + longer {
		if rank < bytewise {
			text = append(text, all[rank])
		} else {
			at := rank - bytewise
			for _, c := range []int{0, columns / 2} {
				half := int(halves[c*longer+at])<<16 | int(halves[(c+1)*longer+at])<<8 | int(halves[(c+2)*longer+at])
				if half >= rank {
					return nil, fmt.Errorf("the token of rank %d consists of a later one", rank)
				}
				text = append(text, text[ends[half]:ends[half+1]]...)
			}
		}
		ends = append(ends, len(text))
	}
	ranks := make(map[string]int, bytewise+longer)
	tokens := string(text) // the keys are substrings of it
	for rank := range bytewise + longer {
		ranks[tokens[ends[rank]:ends[rank+1]]] = rank
	}
	return ranks, nil
})

// countO200k returns how many tokens a text has in o200k_base.
func countO200k(text string) (int, error) {
	ranks, err := o200k()
	if err != nil {
		return 0, err
	}
	count := 0
	var parts []part
	for len(text) > 0 {
		piece := nextPiece(text)
		if _, whole := ranks[piece]; whole {
			count++
		} else {
			parts = merge(parts[:0], piece, ranks)
			count += len(parts)
		}
		text = text[len(piece):]
	}
	return count, nil
}

// nextPiece returns the beginning of a text that is merged on its own. A run of blanks before something else leaves its
// last blank to that.
func nextPiece(text string) string {
	at := pieces().FindStringSubmatchIndex(text)
	if at == nil || at[0] != 0 {
		_, n := utf8.DecodeRuneInString(text)
		return text[:n] // never: some part of the expression takes any character
	}
	end := min(at[1], longestPiece)
	if at[2] >= 0 && end < len(text) {
		if _, last := utf8.DecodeLastRuneInString(text[:end]); last < end {
			end -= last
		}
	}
	return text[:end]
}

// part is a piece of a text that may become a token.
type part struct {
	from int
	rank int // of this piece and the next one together
}

// merge joins the neighbours with the lowest rank, leftmost first, until no two form a token.
func merge(parts []part, piece string, ranks map[string]int) []part {
	for i := range len(piece) {
		parts = append(parts, part{from: i})
	}
	rank := func(i int) int {
		if i+1 < len(parts) {
			end := len(piece)
			if i+2 < len(parts) {
				end = parts[i+2].from
			}
			if r, ok := ranks[piece[parts[i].from:end]]; ok {
				return r
			}
		}
		return math.MaxInt
	}
	for i := range parts {
		parts[i].rank = rank(i)
	}
	for {
		best := 0
		for i := range parts {
			if parts[i].rank < parts[best].rank {
				best = i
			}
		}
		if parts[best].rank == math.MaxInt {
			return parts
		}
		parts = append(parts[:best+1], parts[best+2:]...)
		parts[best].rank = rank(best)
		if best > 0 {
			parts[best-1].rank = rank(best - 1)
		}
	}
}
