package parley_test

import (
	"crypto/sha256"
	"encoding/json"
	"testing"

	"example.org/parley"
)

func chain(t *testing.T, previous parley.Hash, in parley.ChainInput) parley.Hash {
	t.Helper()
	if in.Version == 0 {
		in.Version = parley.ChainVersion1
	}
	hash, err := parley.ChainHash(previous, in)
	if err != nil {
		t.Fatalf("ChainHash: %v", err)
	}
	if hash.IsZero() {
		t.Fatal("ChainHash gave the zero hash")
	}
	return hash
}

func TestChainHashIsTheDocumentedBytes(t *testing.T) {
	t.Parallel()
	previous := parley.HashOf([]byte("before"))
	covers := int64(7)
	got := chain(t, previous, parley.ChainInput{
		Role: parley.RoleSummary, Status: parley.MessageCompleted, Content: json.RawMessage(`{"text":"so far"}`),
		ContextNote: `at "noon"`, ProviderData: []byte{0xde, 0xad}, CoversThrough: &covers,
	})
	want := sha256.Sum256(
		append(
			previous[:],
			`{"content":{"text":"so far"},"context_note":"at \"noon\"","covers_through":7,"provider_data":"dead",`+
				`"role":"summary","status":"completed"}`...),
	)
	if got != want {
		t.Errorf("got %s; want %x", got, want)
	}
}

func TestChainHashCoversEveryFieldOfItsInput(t *testing.T) {
	t.Parallel()
	base := func() parley.ChainInput {
		return parley.ChainInput{
			Role:    parley.RoleUser,
			Status:  parley.MessageCompleted,
			Content: json.RawMessage(`{"text":"a"}`),
		}
	}
	covers, other := int64(0), int64(1)
	seen := map[parley.Hash]string{chain(t, parley.Hash{}, base()): "the base"}
	for name, change := range map[string]func(*parley.ChainInput){
		"role":    func(in *parley.ChainInput) { in.Role = parley.RoleSummary },
		"status":  func(in *parley.ChainInput) { in.Status = parley.MessageCancelled },
		"content": func(in *parley.ChainInput) { in.Content = json.RawMessage(`{"text":"b"}`) },
		"nested content": func(in *parley.ChainInput) {
			in.Content = json.RawMessage(`{"links":["x"],` +
				`"text":"a"}`)
		},
		"context note":            func(in *parley.ChainInput) { in.ContextNote = "n" },
		"another context note":    func(in *parley.ChainInput) { in.ContextNote = "m" },
		"ordinal":                 func(in *parley.ChainInput) { in.CallOrdinal = 1 },
		"another ordinal":         func(in *parley.ChainInput) { in.CallOrdinal = 2 },
		"provider data":           func(in *parley.ChainInput) { in.ProviderData = []byte{1} },
		"another provider data":   func(in *parley.ChainInput) { in.ProviderData = []byte{1, 0} },
		"covers through nothing":  func(in *parley.ChainInput) { in.CoversThrough = &covers },
		"covers through the next": func(in *parley.ChainInput) { in.CoversThrough = &other },
	} {
		in := base()
		change(&in)
		hash := chain(t, parley.Hash{}, in)
		if twin, ok := seen[hash]; ok {
			t.Errorf("a change of %s gives the hash of %s", name, twin)
		}
		seen[hash] = name
	}
	if twin, ok := seen[chain(t, parley.HashOf(nil), base())]; ok {
		t.Errorf("another previous hash gives the hash of %s", twin)
	}
}

func TestChainHashReplacesACallsIDByItsOrdinal(t *testing.T) {
	t.Parallel()
	call := func(id, name, arguments string, ordinal int64) parley.Hash {
		content, err := parley.EncodeContent(
			parley.ToolCallContent{ID: id, Name: name, Arguments: json.RawMessage(arguments)},
		)
		if err != nil {
			t.Fatal(err)
		}
		return chain(
			t,
			parley.Hash{},
			parley.ChainInput{
				Role:        parley.RoleToolCall,
				Status:      parley.MessageCompleted,
				Content:     content,
				CallOrdinal: ordinal,
			},
		)
	}
	base := call("call_a", "search", `{"q":1}`, 3)
	if call("call_b", "search", `{"q":1}`, 3) != base {
		t.Error("the hash covers the id of a call, so a copy of the conversation would have another hash")
	}
	for name, hash := range map[string]parley.Hash{
		"ordinal":   call("call_a", "search", `{"q":1}`, 4),
		"name":      call("call_a", "find", `{"q":1}`, 3),
		"arguments": call("call_a", "search", `{"q":2}`, 3),
	} {
		if hash == base {
			t.Errorf("the hash does not cover the %s of a call", name)
		}
	}
	if _, err := parley.ChainHash(
		parley.Hash{},
		parley.ChainInput{Version: parley.ChainVersion, Role: parley.RoleToolCall, Content: json.RawMessage(`[`)},
	); err == nil {
		t.Error("an unreadable tool_call has a hash")
	}
}

func TestHashText(t *testing.T) {
	t.Parallel()
	hash := parley.HashOf([]byte("x"))
	for _, want := range []parley.Hash{{}, hash} {
		text, err := want.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		got := parley.HashOf([]byte("other"))
		if err := got.UnmarshalText(text); err != nil || got != want {
			t.Errorf("%s came back as %s, %v", want, got, err)
		}
	}
	for want, hash := range map[string]parley.Hash{`null`: {}, `"` + hash.String() + `"`: hash} {
		encoded, err := json.Marshal(hash)
		if err != nil || string(encoded) != want {
			t.Errorf("%s, %v; want %s", encoded, err, want)
		}
		var back parley.Hash
		if err := json.Unmarshal(encoded, &back); err != nil || back != hash {
			t.Errorf("%s decodes as %s, %v", encoded, back, err)
		}
	}
	for _, text := range []string{"ab", hash.String() + "0", "zz" + hash.String()[2:]} {
		var got parley.Hash
		if err := got.UnmarshalText([]byte(text)); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%q: %v; want invalid", text, err)
		}
	}
}
