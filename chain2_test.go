package parley_test

import (
	"encoding/json"
	"os"
	"testing"

	"example.org/parley"
)

// golden is one message of testdata/chain.json: a record that begins under the first version of the chain and continues
// under the second.
type golden struct {
	Name    string      `json:"name"`
	Input   goldenInput `json:"input"`
	Hash    string      `json:"hash"` // covers the previous hash
	Refused bool        `json:"refused"`
}

type goldenInput struct {
	Version       int                  `json:"version"`
	Role          parley.Role          `json:"role"`
	Status        parley.MessageStatus `json:"status"`
	Content       json.RawMessage      `json:"content"`
	ContextNote   string               `json:"context_note"`
	CallOrdinal   int64                `json:"call"`
	ProviderData  []byte               `json:"provider_data"`
	CoversThrough *int64               `json:"covers_through"`
	AuthorKind    parley.AuthorKind    `json:"author_kind"`
	AuthorName    string               `json:"author_name"`
	Model         parley.ModelID       `json:"model"`
	CreatedAt     int64                `json:"created_at"`
	Metadata      json.RawMessage      `json:"metadata"`
	Internal      bool                 `json:"internal"`
}

func (in *goldenInput) input() parley.ChainInput {
	return parley.ChainInput{
		Version:       in.Version,
		Role:          in.Role,
		Status:        in.Status,
		Content:       in.Content,
		ContextNote:   in.ContextNote,
		CallOrdinal:   in.CallOrdinal,
		ProviderData:  in.ProviderData,
		CoversThrough: in.CoversThrough,
		AuthorKind:    in.AuthorKind,
		AuthorName:    in.AuthorName,
		Model:         in.Model,
		CreatedAt:     parley.Time(in.CreatedAt),
		Metadata:      in.Metadata,
		Internal:      in.Internal,
	}
}

func TestTheHashesOfEveryChainVersionStayAsTheyAre(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/chain.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []golden
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	var previous parley.Hash
	for i := range vectors {
		v := &vectors[i]
		hash, err := parley.ChainHash(previous, v.Input.input())
		if v.Refused {
			if parley.ErrorCode(err) != parley.CodeUnavailable {
				t.Errorf("%s: %s, %v; want it refused", v.Name, hash, err)
			}
			continue
		}
		if err != nil || hash.String() != v.Hash {
			t.Errorf("%s: %s, %v; want %s", v.Name, hash, err, v.Hash)
		}
		previous = hash
	}
}

func TestTheSecondChainVersionIsTheDocumentedBytes(t *testing.T) {
	t.Parallel()
	previous, covers := parley.HashOf([]byte("before")), int64(7)
	got := chain(t, previous, parley.ChainInput{
		Version:       2,
		Role:          parley.RoleSummary,
		Status:        parley.MessageCompleted,
		Content:       json.RawMessage(`{"text":"so far"}`),
		ContextNote:   "n",
		ProviderData:  []byte{0xde, 0xad},
		CoversThrough: &covers,
		CallOrdinal:   3,
		AuthorKind:    parley.AuthorAgent,
		AuthorName:    `A "b"`,
		Model:         "sim/echo",
		CreatedAt:     1700000000123,
		Metadata:      json.RawMessage(`{"a":1}`),
	})
	text := append([]byte("parley chain 2\n"), previous[:]...)
	text = append(
		text,
		`{"author":{"kind":"agent","name":"A \"b\""},"call":3,"content":{"text":"so far"},"context_note":"n",`+
			`"covers_through":7,`+
			`"created_at":1700000000123,"metadata":{"a":1},"model":"sim/echo","provider_data":"dead",`+
			`"role":"summary","status":"completed"}`...)
	if want := parley.HashOf(text); got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

func TestTheSecondChainVersionCoversEveryField(t *testing.T) {
	t.Parallel()
	base := func() parley.ChainInput {
		return parley.ChainInput{
			Version:    2,
			Role:       parley.RoleUser,
			Status:     parley.MessageCompleted,
			Content:    json.RawMessage(`{"text":"a"}`),
			AuthorKind: parley.AuthorPerson,
			AuthorName: "ada",
			Model:      "sim/echo",
			CreatedAt:  5,
			Metadata:   json.RawMessage(`{}`),
		}
	}
	covers := int64(0)
	seen := map[parley.Hash]string{chain(t, parley.Hash{}, base()): "the base"}
	for name, change := range map[string]func(*parley.ChainInput){
		"version":        func(in *parley.ChainInput) { in.Version = 1 },
		"role":           func(in *parley.ChainInput) { in.Role = parley.RoleSummary },
		"status":         func(in *parley.ChainInput) { in.Status = parley.MessageCancelled },
		"content":        func(in *parley.ChainInput) { in.Content = json.RawMessage(`{"text":"b"}`) },
		"context note":   func(in *parley.ChainInput) { in.ContextNote = "n" },
		"ordinal":        func(in *parley.ChainInput) { in.CallOrdinal = 1 },
		"provider data":  func(in *parley.ChainInput) { in.ProviderData = []byte{1} },
		"covers through": func(in *parley.ChainInput) { in.CoversThrough = &covers },
		"author's kind":  func(in *parley.ChainInput) { in.AuthorKind = parley.AuthorService },
		"author's name":  func(in *parley.ChainInput) { in.AuthorName = "bob" },
		"model":          func(in *parley.ChainInput) { in.Model = "" },
		"created at":     func(in *parley.ChainInput) { in.CreatedAt++ },
		"internal":       func(in *parley.ChainInput) { in.Internal = true },
		"metadata":       func(in *parley.ChainInput) { in.Metadata = json.RawMessage(`{"a":1}`) },
	} {
		in := base()
		change(&in)
		hash := chain(t, parley.Hash{}, in)
		if twin, ok := seen[hash]; ok {
			t.Errorf("a change of %s gives the hash of %s", name, twin)
		}
		seen[hash] = name
	}
}

func TestPartsAreHashedByTheBytesOfTheirFilesAndNotByIDs(t *testing.T) {
	t.Parallel()
	of := func(content string) parley.Hash {
		return chain(
			t,
			parley.Hash{},
			parley.ChainInput{Version: 2, Role: parley.RoleUser, Status: parley.MessageCompleted,
				Content: json.RawMessage(content), AuthorKind: parley.AuthorPerson, Metadata: json.RawMessage(`{}`)},
		)
	}
	base := of(`{"parts":[{"text":"see\u2028","type":"text"},{"file_id":"one","sha256":"aa","type":"image"}]}`)
	if of(`{"parts":[{"text":"see\u2028","type":"text"},{"file_id":"two","sha256":"aa","type":"image"}]}`) != base {
		t.Error("the hash covers the id of a part's file, so a copy of the conversation would have another hash")
	}
	for name, content := range map[string]string{
		"other bytes": `{"parts":[{"text":"see\u2028","type":"text"},{"file_id":"one","sha256":"ab",` +
			`"type":"image"}]}`,
		"another order": `{"parts":[{"file_id":"one","sha256":"aa","type":"image"},{"text":"see\u2028",` +
			`"type":"text"}]}`,
		"a part less":       `{"parts":[{"text":"see\u2028","type":"text"}]}`,
		"parts in a result": `{"result":{"parts":[{"file_id":"one"}]},"success":true}`,
	} {
		if of(content) == base {
			t.Errorf("%s: the same hash", name)
		}
	}
	if of(`{"result":{"parts":[{"file_id":"one"}]}}`) == of(`{"result":{"parts":[{"file_id":"two"}]}}`) {
		t.Error("the hash leaves out a value that is not a part")
	}
}
