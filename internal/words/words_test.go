package words

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/store"
)

func textsOf(words []Word) []string {
	texts := []string{}
	for _, word := range words {
		texts = append(texts, word.Text)
	}
	return texts
}

func TestWordsAreFoldedAndParted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "",
		"Hello, World-2!":            "hello world 2",
		"read_session parseJSON v1b": "read session parsejson v1b",
		"Größe GROSSE größe":         "grosse grosse grosse",
		"Cafe\u0301 café CAFÉ":       "cafe cafe cafe",
		"İstanbul ΣΊΣΥΦΟΣ Σίσυφος": "istanbul σισυφοσ σισυφοσ",
		"ﬁn ＡＢＣ ﷺ":                 "fin abc صلىاللهعليهوسلم",
		"東京都":                      "東京 京都 都",
		"a東b":                      "a 東 b",
		"東京 in 2026年":              "東京 京 in 2026 年",
		"한국어":                      "한국 국어 어",
		"ёлка Ёлка":                "елка елка",
		"½ ✓ 🚀 \u200b":             "",
		"हिन्दी":                   "हिन्दी",
	} {
		if got := strings.Join(textsOf(Split(text)), " "); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := Split(strings.Repeat("é", 200)); len(got) != 1 || utf8.RuneCountInString(got[0].Text) != MaxWordRunes {
		t.Errorf("a long word is %v", got)
	}
	if got := Split(strings.Repeat("a ", MaxWords+10)); len(got) != MaxWords {
		t.Errorf("a long text has %d words", len(got))
	}
}

// Words are at their stated positions, in order, and contain nothing that a database could take for an operator.
func TestWordsStandWhereTheySay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		last := 0
		for _, word := range Split(text) {
			if word.From < last || word.To <= word.From || word.To > len(text) || word.Text == "" {
				t.Fatalf("%+v in %q", word, text)
			}
			last = word.From
			for _, r := range word.Text {
				if !inWord(r) || strings.ContainsRune(scopes+`"' `, r) {
					t.Fatalf("%q holds %q", word.Text, r)
				}
			}
			first, _ := utf8.DecodeRuneInString(word.Text)
			if again := textsOf(
				Split(word.Text),
			); !isMark(first) && !word.Pair && !word.Last &&
				!slices.Equal(again, []string{word.Text}) {
				t.Fatalf("%q is folded again to %q", word.Text, again)
			}
		}
	})
}

func TestQueriesAreRead(t *testing.T) {
	t.Parallel()
	show := func(terms []store.SearchTerm) string {
		var parts []string
		for _, term := range terms {
			text := strings.Join(term.Words, " ")
			if term.Without {
				text = "-" + text
			}
			if term.Prefix {
				text += "*"
			}
			parts = append(parts, text)
		}
		return strings.Join(parts, ", ")
	}
	for query, want := range map[string]string{
		"deploy":                "deploy*",
		"deploy ":               "deploy",
		"de":                    "de",
		"to be":                 "to, be",
		"Deploy -Staging":       "deploy, -staging",
		`"rolling restart"`:     "rolling restart",
		`"rolling restart`:      "rolling restart*",
		`"rolling restart `:     "rolling restart",
		`up "rolling re`:        "up, rolling re",
		`-"rolling restart" up`: "-rolling restart, up",
		"read_session":          "read session*",
		`a"b"c`:                 "a, b, c",
		"- a":                   "a",
		"a OR b":                "a, or, b",
		"東":                     "東*",
		"東京":                    "東京",
		"東京都 -大阪":               "東京 京都, -大阪",
		`"ab 東"`:                "ab 東*",
		"ab東cd":                 "ab 東 cd",
		"words:needle*":         "words needle",
	} {
		terms, err := Parse(query)
		if err != nil || show(terms) != want {
			t.Errorf("%s is read as %s (%v), want %s", query, show(terms), err, want)
		}
	}
}

// Every query is parsed within its bounds or refused with its field, and the databases get only words in quotes.
func TestOddQueriesAreReadOrRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		query := rapid.OneOf(rapid.String(), rapid.StringMatching(`([-"' *():^{}&|!<>\\a-c東]|NEAR|AND|OR|NOT){0,40}`)).
			Draw(t, "query")
		readOrRefused(t, query)
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`a "b c" -d`, `NEAR(a, b)`, "東京", "\x00", `""`, "a\u0301"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) { readOrRefused(t, query) })
}

// FuzzSnippet: a snippet is a part of the text, and its marks lie within it.
func FuzzSnippet(f *testing.F) {
	f.Add("Rain in Lisbon, and more rain.", "rain")
	f.Add("東京\x00\xff", "東京")
	f.Fuzz(func(t *testing.T, text, query string) {
		terms, err := Parse(query)
		if err != nil {
			return
		}
		snippet, marks := Snippet(text, terms)
		for _, mark := range marks {
			if mark[0] < 0 || mark[1] < mark[0] || mark[1] > len(snippet) {
				t.Errorf("%q has a mark at %+v", snippet, mark)
			}
		}
	})
}

type failing interface {
	Fatalf(format string, args ...any)
}

func readOrRefused(t failing, query string) {
	terms, err := Parse(query)
	if err != nil {
		if parley.ErrorCode(err) != parley.CodeInvalid {
			t.Fatalf("%q: %v", query, err)
		}
		return
	}
	words, with := 0, false
	for _, term := range terms {
		words, with = words+len(term.Words), with || !term.Without
	}
	if words == 0 || words > MaxQueryWords || !with {
		t.Fatalf("%q is read as %+v", query, terms)
	}
	if fts := FTS5(terms, nil); strings.Count(fts, `"`)%2 != 0 || strings.ContainsAny(fts, "\x00;'") {
		t.Fatalf("%q asks SQLite for %s", query, fts)
	}
	if ts := TSQuery(terms, nil); strings.Count(ts, "'")%2 != 0 || strings.ContainsAny(ts, "\x00;\"\\") {
		t.Fatalf("%q asks PostgreSQL for %s", query, ts)
	}
}

func TestSnippetsShowMatches(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(
		"hay ",
		200,
	) + "the first needle, " + strings.Repeat(
		"straw ",
		100,
	) + "a sharp needle in 東京都 " + strings.Repeat(
		"hay ",
		100,
	)
	for _, test := range []struct {
		text, query, shows string
		marked             []string
	}{
		{"A needle\n\n in   the hay", "needle", "A needle in the hay", []string{"needle"}},
		{"Größe und größer", "grosse", "Größe und größer", []string{"Größe", "größer"}},
		{"Größe und größer", `"grosse"`, "Größe und größer", []string{"Größe"}},
		{"needles and read_session", "needle", "needles and read_session", []string{"needles"}},
		{"a 🚀 needle", "needle ", "a 🚀 needle", []string{"needle"}},
		{"read_session", "read_session", "read_session", []string{"read_session"}},
		{"東京都庁", "東京都", "東京都庁", []string{"東京都"}},
		{"nothing of it", "needle", "nothing of it", nil},
		{"", "needle", "", nil},
	} {
		terms, err := Parse(test.query)
		if err != nil {
			t.Fatal(err)
		}
		text, marks := Snippet(test.text, terms)
		if text != test.shows || !slices.Equal(markedIn(text, marks), test.marked) {
			t.Errorf("%q in %q: %q with %q", test.query, test.text, text, markedIn(text, marks))
		}
	}
	terms, _ := Parse("sharp needle ")
	text, marks := Snippet(long, terms)
	if !strings.HasPrefix(text, "…") || !strings.HasSuffix(text, "…") ||
		!slices.Equal(markedIn(text, marks), []string{"sharp", "needle"}) {
		t.Errorf("of a long text: %q with %q", text, markedIn(text, marks))
	}
}

func markedIn(text string, marks []Mark) (marked []string) {
	runes := []rune(text)
	for _, mark := range marks {
		marked = append(marked, string(runes[mark[0]:mark[1]]))
	}
	return marked
}

// Marks lie within the snippet, in order and without overlap; a snippet is bounded.
func TestMarksLieInTheirSnippet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`(needle|hay|東|\n| |-|é){0,400}`)).Draw(t, "text")
		terms, err := Parse(
			rapid.SampledFrom([]string{"needle", "hay needle", "東", "東東", `"needle hay"`, "é", "-hay nee"}).
				Draw(t, "query"),
		)
		if err != nil {
			t.Fatal(err)
		}
		snippet, marks := Snippet(text, terms)
		length, last := utf8.RuneCountInString(snippet), -1
		if length > SnippetRunes+2 || !utf8.ValidString(snippet) {
			t.Fatalf("%d characters", length)
		}
		for _, mark := range marks {
			if mark[0] < last || mark[1] <= mark[0] || mark[1] > length {
				t.Fatalf("marks %v of %d characters in %q", marks, length, snippet)
			}
			last = mark[1]
		}
	})
}

// The order of hits: more occurrences in shorter texts come first.
func TestScores(t *testing.T) {
	t.Parallel()
	score := func(text, query string) float64 {
		terms, err := Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		return Score(EntryOf(text).Counts, terms)
	}
	hay := strings.Repeat(" hay", 300)
	for _, pair := range [][2]float64{
		{score("needle needle", "needle"), score("needle", "needle")},
		{score("needle", "needle"), score("needle"+hay, "needle")},
		{score("needle needle hay", "needle hay"), score("needle hay", "needle hay")},
		{score("needle needle"+hay, "needle"), score("needle"+hay, "needle")},
	} {
		if pair[0] <= pair[1] {
			t.Errorf("%v is no better than %v", pair[0], pair[1])
		}
	}
	if score("needle hay", "needle -hay") != score("needle hay", "needle") {
		t.Error("what must not occur is scored")
	}
}

// The searchable text of a message: strings, but no names of fields.
func TestTextOf(t *testing.T) {
	t.Parallel()
	for content, test := range map[string]struct {
		role parley.Role
		want string
	}{
		`{"text":"a","links":["b"]}`:                 {parley.RoleUser, "a\nb"},
		`{"text":"a","reasoning":"r","refusal":"c"}`: {parley.RoleAssistant, "a\nc"},
		`{"id":"i","name":"n","arguments":{"k":["v",{"k2":"w"},1,null],"k3":"x"}}`: {parley.RoleToolCall,
			"n\nv\nw\nx"},
		`{"id":"i","name":"n","arguments":null,"arguments_text":"{\"broken"}`: {parley.RoleToolCall,
			"n\n{\"broken"},
		`{"result":"plain","error":null,"execution_time_ms":null,"success":true}`: {parley.RoleToolResult,
			"tool\nplain"},
		`{"result":[["a"],"b"],"error":"e","execution_time_ms":null,"success":true}`: {parley.RoleToolResult,
			"tool\ne\na\nb"},
		`{"result":{"a":{"b":{}}},"error":null,"success":true}`: {parley.RoleToolResult, "tool"},
		`{"text":"s"}`: {parley.RoleSummary, "s"},
		`no JSON`:      {parley.RoleUser, ""},
	} {
		if got := TextOf(test.role, "tool", []byte(content)); got != test.want {
			t.Errorf("of %s: %q, want %q", content, got, test.want)
		}
		if got := BeginningOf(test.role, "tool", []byte(content)); got != test.want {
			t.Errorf("of the beginning of %s: %q, want %q", content, got, test.want)
		}
	}
}

// What is read of a long content is its beginning: what a cut has left of its strings.
func TestBeginningOf(t *testing.T) {
	t.Parallel()
	for content, test := range map[string]struct {
		role parley.Role
		want string
	}{
		`{"text":"a needle in`:                      {parley.RoleUser, "a needle in"},
		`{"links":["l","m"],"text":"a`:              {parley.RoleUser, "a\nl\nm"},
		`{"links":["l","m`:                          {parley.RoleUser, "l\nm"},
		`{"links":["l",`:                            {parley.RoleUser, "l"},
		`{"text":"a","thi`:                          {parley.RoleUser, "a"},
		`{"text":"a","think":tr`:                    {parley.RoleUser, "a"},
		`{"text":"a\`:                               {parley.RoleUser, "a"},
		`{"text":"a\\\`:                             {parley.RoleUser, `a\`},
		`{"text":"a\\u12`:                           {parley.RoleUser, `a\u12`},
		`{"text":"a\u00e`:                           {parley.RoleUser, "a"},
		`{"text":"a\u00e9`:                          {parley.RoleUser, "aé"},
		`{"text":"\"a\"","x":"`:                     {parley.RoleUser, `"a"`},
		`{"parts":[{"text":"a","type":"text"},{"te`: {parley.RoleUser, "a"},
		`{"reasoning":"r`:                           {parley.RoleAssistant, ""},
		`{"arguments":{"k":["v",{"k2":"w`:           {parley.RoleToolCall, "v\nw"},
		`{"error":null,"result":{"a":[{},{"b":"c`:   {parley.RoleToolResult, "tool\nc"},
		`{"te`: {parley.RoleUser, ""},
		`{`:    {parley.RoleUser, ""},
		``:     {parley.RoleUser, ""},
		`}]"`:  {parley.RoleUser, ""},
	} {
		if got := BeginningOf(test.role, "tool", []byte(content)); got != test.want {
			t.Errorf("of %s: %q, want %q", content, got, test.want)
		}
	}
}

// Wherever a content is cut, what is read of it is the beginning of what was there.
func TestBeginningOfAnyCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`("|\\|\n|u00e9|é|🚀|a){0,40}`)).Draw(t, "text")
		content, err := parley.EncodeContent(parley.TextContent{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		cut := rapid.IntRange(0, len(content)).Draw(t, "cut")
		got := BeginningOf(parley.RoleSummary, "", content[:cut])
		whole := BeginningOf(parley.RoleSummary, "", content)
		if got = strings.TrimRight(got, "\uFFFD"); !strings.HasPrefix(whole, got) {
			t.Errorf("%q is no beginning of %q", got, whole)
		}
	})
}
