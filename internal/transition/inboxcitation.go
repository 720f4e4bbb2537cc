package transition

import (
	"encoding/json"

	"example.org/parley"
)

// citing is an agent's background session that cites messages, and the root of the work that it does now.
type citing struct{ workspaceID, sessionID, ownerID, rootID parley.ID }

// citations returns the messages that texts cite, and why a citation is wrong: CodeInvalid, with a sentence for the
// model. A session may cite its own record, and the background sessions of the same owner that work for the same root
// or for anything that it has sent them; of what it asked a person, the answer.
func (t *Tx) citations(by citing, texts ...string) (found []parley.InboxCitation, wrong, err error) {
	found = []parley.InboxCitation{}
	cited, wrong := parley.InboxCitations(texts...)
	for i := range cited {
		m, err := t.rows.Cited(by.workspaceID, cited[i].SessionID, cited[i].Sequence)
		if err != nil {
			return nil, nil, err
		}
		readable := m != nil && m.OwnerID == by.ownerID
		if readable && cited[i].SessionID != by.sessionID {
			if readable, err = t.reaches(by, cited[i].SessionID, m); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case readable:
			cited[i].MessageID = m.ID
			found = append(found, cited[i])
		case wrong == nil:
			wrong = parley.WrongCitation(&cited[i])
		}
	}
	return found, wrong, nil
}

// reaches reports whether a session may cite a message of another session of its owner.
func (t *Tx) reaches(by citing, sessionID parley.ID, m *CitedMessage) (bool, error) {
	shares, err := t.rows.SharesWork(by.workspaceID, sessionID, by.rootID, by.sessionID)
	if err != nil || shares {
		return shares, err
	}
	d, err := t.delegation(by.workspaceID, linkedBy(m.Metadata))
	return d != nil && d.FromSessionID == by.sessionID && d.AnswerMessageID == m.ID, err
}

// linkedBy returns the delegation that metadata names; zero for none.
func linkedBy(metadata json.RawMessage) parley.ID {
	var link parley.DelegationLink
	if len(metadata) <= len(`{}`) || json.Unmarshal(metadata, &link) != nil {
		return parley.ID{}
	}
	return link.DelegationID
}

// citation returns how a recorded message of a session is cited, with a space before it; "" for one that is not in the
// record yet.
func citation(sessionID parley.ID, sequence int64) string {
	if sequence == 0 {
		return ""
	}
	return " " + (&parley.InboxCitation{SessionID: sessionID, Sequence: sequence}).String()
}
