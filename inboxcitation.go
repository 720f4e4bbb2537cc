package parley

import (
	"regexp"
	"slices"
	"strconv"
)

// InboxCitation is a message that an item of an inbox cites for what it says.
type InboxCitation struct {
	SessionID ID    `json:"session_id"`
	Sequence  int64 `json:"sequence"`
	MessageID ID    `json:"message_id"`
}

// String returns how a text cites the message: [session:sequence].
func (c *InboxCitation) String() string {
	return "[" + c.SessionID.String() + ":" + strconv.FormatInt(c.Sequence, 10) + "]"
}

// inboxCitation finds what is meant as a citation: brackets that begin as an id does and end with a number.
var inboxCitation = regexp.MustCompile(`\[([0-9A-Fa-f]{8}-[0-9A-Za-z….-]{0,64}):([0-9]{1,20})\]`)

// InboxCitations returns what texts cite as [session:sequence], each message once and without its id. It is
// CodeInvalid, with a sentence for the model that wrote them, for a citation that cannot lead anywhere and for too
// many.
func InboxCitations(texts ...string) ([]InboxCitation, error) {
	found := []InboxCitation{}
	for _, text := range texts {
		for _, match := range inboxCitation.FindAllStringSubmatch(text, -1) {
			id, err := ParseID(match[1])
			sequence, notNumber := strconv.ParseInt(match[2], 10, 64)
			if err != nil || notNumber != nil || sequence < 1 {
				return nil, Errorf(CodeInvalid, "%s is not a citation; %s", match[0], citeAsGiven)
			}
			cited := InboxCitation{SessionID: id, Sequence: sequence}
			if slices.Contains(found, cited) {
				continue
			}
			if len(found) == MaxInboxCitations {
				return nil, Errorf(CodeInvalid, "it cites more than %d messages; cite those that matter most",
					MaxInboxCitations)
			}
			found = append(found, cited)
		}
	}
	return found, nil
}

const citeAsGiven = "copy a citation as the answer or report that you read gives it, as in " +
	"[0198c6c2-7f2b-7a4e-8f61-3c1d2e4f5a6b:12], or leave it out"

// WrongCitation is the error for a citation of a message that the agent could not read.
func WrongCitation(c *InboxCitation) error {
	return Errorf(CodeInvalid, "%s cites a message that is not in your work, or not there; %s", c, citeAsGiven)
}
