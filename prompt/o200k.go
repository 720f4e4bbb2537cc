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

// o200kTokens are the tokens of o200k_base by rank, each after its length in one byte, as OpenAI publishes them
// (https://github.com/openai/tiktoken, MIT). Compressed they add a megabyte to the program; as a Go table they added
// six.
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
	ranks := make(map[string]int, 200_000)
	text := string(all) // the tokens are substrings of it
	for len(text) > 0 {
		n := 1 + int(text[0])
		if n > len(text) {
			return nil, fmt.Errorf("the token of rank %d is cut off", len(ranks))
		}
		ranks[text[1:n]] = len(ranks)
		text = text[n:]
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
