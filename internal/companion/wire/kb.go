package wire

import (
	"encoding/json"
	"errors"
)

// KBAdd adds a document to the session's knowledge base.
type KBAdd struct {
	Head
	Content  string   `json:"content"`
	Metadata metadata `json:"metadata,omitempty"`
}

// KBSearch searches the knowledge base. It leaves out documents with a score below Threshold, which is from 0 to 1.
type KBSearch struct {
	Head
	Query     string  `json:"query"`
	Limit     int     `json:"limit,omitempty"` // default 5
	Threshold float64 `json:"threshold,omitempty"`
}

// KBList lists the documents of the knowledge base.
type KBList struct{ Head }

// KBRemove removes a document from the knowledge base.
type KBRemove struct {
	Head
	DocumentID string `json:"documentId"`
}

// KBAdded answers KBAdd.
type KBAdded struct {
	Head
	DocumentID string `json:"documentId"`
}

// KBSearchResult answers KBSearch with hits, best first.
type KBSearchResult struct {
	Head
	Results []KBHit `json:"results"`
}

// KBListResult answers KBList with documents, oldest first.
type KBListResult struct {
	Head
	Documents  []KBDocument `json:"documents"`
	TotalCount int          `json:"totalCount"`
}

// KBRemoved answers KBRemove.
type KBRemoved struct {
	Head
	DocumentID string `json:"documentId"`
	Found      bool   `json:"found"`
}

// metadata is a document's metadata as texts. A member that is not text is kept as its JSON.
type metadata map[string]string

func (m *metadata) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return errors.New("metadata is not an object")
	}
	*m = make(metadata, len(members))
	for name, value := range members {
		var text string
		if json.Unmarshal(value, &text) != nil || string(value) == "null" {
			text = string(value)
		}
		(*m)[name] = text
	}
	return nil
}

// Check returns what is wrong with the query, or nil.
func (f *KBSearch) Check() *Refusal {
	switch {
	case f.Query == "":
		return Refuse(CodeBadMessage, "query is missing")
	case f.Limit < 0:
		return Refuse(CodeBadMessage, "limit must be positive")
	case f.Threshold < 0 || f.Threshold > 1:
		return Refuse(CodeBadMessage, "threshold must be between 0 and 1")
	}
	return nil
}

// KBHit is a document that a search found.
type KBHit struct {
	DocumentID string            `json:"documentId"`
	Content    string            `json:"content"`
	Passages   []KBPassage       `json:"passages"` // the matching parts, best first
	Score      float64           `json:"score"`    // from 0 to 1, comparable across queries
	Metadata   map[string]string `json:"metadata,omitempty"`
}

// KBPassage is a part of a document.
type KBPassage struct {
	Start int    `json:"start"`
	End   int    `json:"end"` // lines of the content, counted from 1; both included
	Text  string `json:"text"`
}

// KBDocument is one document of a list.
type KBDocument struct {
	DocumentID string            `json:"documentId"`
	Preview    string            `json:"preview"` // first 100 characters
	Length     int               `json:"length"`  // of the content, in characters
	Metadata   map[string]string `json:"metadata,omitempty"`
}
