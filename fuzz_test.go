package parley_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"parley"
)

func FuzzParseID(f *testing.F) {
	for _, seed := range []string{"", "01976c1e-7a4b-7def-8123-456789abcdef", "01976C1E-7A4B-7DEF-8123-456789ABCDEF", "01976c1e-7a4b-7def-8123-456789abcdeg"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := parley.ParseID(text)
		if err != nil {
			if !id.IsZero() || parley.ErrorCode(err) != parley.CodeInvalid {
				t.Errorf("refused with %s and %v", id, err)
			}
			return
		}
		again, err := parley.ParseID(id.String())
		if err != nil || again != id {
			t.Errorf("%q is %s, which reads %s, %v", text, id, again, err)
		}
	})
}

func FuzzCanonicalJSON(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[1.50,-0,1e400]}`, `"\ud800"`, `123456789012345678901`, `{"":{"":{}}}`, `[`, `1e-9`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := parley.CanonicalJSON(raw)
		if err != nil {
			if parley.ErrorCode(err) != parley.CodeInvalid {
				t.Errorf("refused with %v", err)
			}
			return
		}
		if !json.Valid(raw) {
			t.Errorf("%q is no JSON and became %s", raw, once)
		}
		twice, err := parley.CanonicalJSON(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%q became %s and then %s, %v", raw, once, twice, err)
		}
	})
}

func FuzzValidateContent(f *testing.F) {
	for i, seed := range []string{`{"text":"hi"}`, `{"text":"a","reasoning":"b"}`, `{"id":"1","name":"n","arguments":{"a":1}}`,
		`{"result":null,"success":false}`, `{"text":"\u0000"}`, `{"text":{}}`} {
		f.Add(uint8(i), []byte(seed))
	}
	roles := []parley.Role{parley.RoleUser, parley.RoleAssistant, parley.RoleToolCall, parley.RoleToolResult, parley.RoleSummary, parley.RoleSystem}
	f.Fuzz(func(t *testing.T, choice uint8, raw []byte) {
		role := roles[int(choice)%len(roles)]
		content, err := parley.ValidateContent(role, raw)
		if err != nil {
			if parley.ErrorCode(err) != parley.CodeInvalid {
				t.Errorf("refused with %v", err)
			}
			return
		}
		if bytes.Contains(content, []byte{0}) {
			t.Errorf("a NUL came through: %q", content)
		}
		again, err := parley.ValidateContent(role, content)
		if err != nil || !bytes.Equal(content, again) {
			t.Errorf("%s %q became %s and then %s, %v", role, raw, content, again, err)
		}
		if _, err := parley.ChainHash(parley.Hash{}, parley.ChainInput{Version: parley.ChainVersion, Role: role, Status: parley.MessageCompleted, Content: content}); err != nil {
			t.Errorf("%s has no hash: %v", content, err)
		}
	})
}
