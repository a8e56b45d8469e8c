package retrieval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"callgate/gate/tools"
	"callgate/internal/visible"
	"callgate/rag"
)

// Tools returns the tools that a session is offered, without the prefix that hosts see. Calls of them are judged first,
// like calls of any server.
func (s *Service) Tools(sessionID string) []server.ServerTool {
	t := sessionTools{s, sessionID}
	return []server.ServerTool{
		{Tool: searchTool, Handler: t.handler(t.search)},
		{Tool: kbAddTool, Handler: t.handler(t.add)},
		{Tool: kbSearchTool, Handler: t.handler(t.find)},
		{Tool: kbListTool, Handler: t.handler(t.list)},
		{Tool: kbRemoveTool, Handler: t.handler(t.remove)},
	}
}

// sessionTools implements the tools of one session.
type sessionTools struct {
	service *Service
	session string
}

// handler returns a tool handler that answers with the text or the error of handle.
func (t sessionTools) handler(handle func(ctx context.Context, r mcp.CallToolRequest) (string, error)) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		t.service.await(ctx, t.session)
		text, err := handle(ctx, r)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(text), nil
	}
}

var (
	reading = mcp.ToolOption(func(t *mcp.Tool) {
		t.Annotations = mcp.ToolAnnotation{ReadOnlyHint: new(true), DestructiveHint: new(false), IdempotentHint: new(true), OpenWorldHint: new(false)}
	})
	writing = func(destructive bool) mcp.ToolOption {
		return func(t *mcp.Tool) {
			t.Annotations = mcp.ToolAnnotation{ReadOnlyHint: new(false), DestructiveHint: &destructive, IdempotentHint: new(destructive), OpenWorldHint: new(false)}
		}
	}
	budgeted = mcp.WithNumber("maxTokens", mcp.Description("About how many tokens the answer may take, 200 to 50000; default 4000"), mcp.Min(minTokens), mcp.Max(maxTokens))
)

var searchTool = mcp.NewTool("search",
	mcp.WithDescription("Search the workspace's code and documents by words, meaning and symbols. Ask a question, give a few words, or the name of a symbol. Returns the best passages with file, lines and symbol."),
	mcp.WithString("query", mcp.Required(), mcp.Description("A question, some words, or the name of a symbol")),
	mcp.WithString("path", mcp.Description("Only files that this glob matches, relative to the workspace or absolute: 'internal/**', '*.md'")),
	mcp.WithString("language", mcp.Description("Only this language: go, python, typescript, markdown, …")),
	mcp.WithString("kind", mcp.Enum(string(rag.KindCode), string(rag.KindDoc), string(rag.KindConfig)), mcp.Description("Only source code, documents, or configuration")),
	mcp.WithNumber("limit", mcp.Description("How many passages, 1 to 50; default 10"), mcp.Min(1), mcp.Max(50)),
	budgeted, reading,
)

func (t sessionTools) search(ctx context.Context, r mcp.CallToolRequest) (string, error) {
	query, err := r.RequireString("query")
	if err != nil {
		return "", err
	}
	answer, err := t.service.Search(ctx, t.session, rag.Query{
		Text: query, Limit: min(max(r.GetInt("limit", 10), 1), 50), Path: r.GetString("path", ""), Language: r.GetString("language", ""),
		Kind: rag.Kind(r.GetString("kind", "")), WithText: true,
	})
	if err != nil {
		return "", err
	}
	return answer.forModel(r.GetInt("maxTokens", 0)), nil
}

var kbAddTool = mcp.NewTool("kb_add",
	mcp.WithDescription("Keep a text in the knowledge base, to be found again by its words and its meaning."),
	mcp.WithString("content", mcp.Required(), mcp.Description("The text, plain, Markdown or HTML; a PDF or DOCX file as a data: URL in base64")),
	mcp.WithObject("metadata", mcp.Description("What to remember of it, as texts: a source, a topic. \"path\" or \"source\" name the file that it is from. A text replaces the one with the same \"path\""), mcp.AdditionalProperties(true)),
	writing(false),
)

func (t sessionTools) add(ctx context.Context, r mcp.CallToolRequest) (string, error) {
	content, err := r.RequireString("content")
	if err != nil {
		return "", err
	}
	metadata, err := texts(r.GetArguments()["metadata"])
	if err != nil {
		return "", err
	}
	id, replaced, err := t.service.AddDocument(ctx, t.session, content, metadata)
	if err != nil {
		return "", err
	}
	if replaced {
		return "Added as " + id + ". It replaced what was there of " + metadata[rag.PathKey] + ".", nil
	}
	return "Added as " + id + ".", nil
}

// texts converts a JSON object to metadata. It keeps values other than text as JSON.
func texts(object any) (map[string]string, error) {
	if object == nil {
		return nil, nil
	}
	members, ok := object.(map[string]any)
	if !ok {
		return nil, errors.New("metadata is not an object")
	}
	out := make(map[string]string, len(members))
	for name, value := range members {
		text, ok := value.(string)
		if !ok {
			data, err := json.Marshal(value)
			if err != nil {
				return nil, fmt.Errorf("metadata %q: %w", name, err)
			}
			text = string(data)
		}
		out[name] = text
	}
	return out, nil
}

var kbSearchTool = mcp.NewTool("kb_search",
	mcp.WithDescription("Search the knowledge base by words and by meaning. Returns the passages that match, each with its document and lines."),
	mcp.WithString("query", mcp.Required(), mcp.Description("A question or some words")),
	mcp.WithNumber("limit", mcp.Description("How many documents, 1 to 50; default 5"), mcp.Min(1), mcp.Max(50)),
	mcp.WithNumber("threshold", mcp.Description("Leave out documents with a lower score, from 0 to 1; start with 0.3; default 0"), mcp.Min(0), mcp.Max(1)),
	budgeted, reading,
)

func (t sessionTools) find(ctx context.Context, r mcp.CallToolRequest) (string, error) {
	query, err := r.RequireString("query")
	if err != nil {
		return "", err
	}
	hits, err := t.service.SearchDocuments(ctx, t.session, query, min(r.GetInt("limit", 5), 50), r.GetFloat("threshold", 0))
	if err != nil {
		return "", err
	}
	if len(hits) == 0 {
		return "Nothing found.", nil
	}
	b := newBudget(r.GetInt("maxTokens", 0))
	for _, h := range hits {
		b.add(documentText(h))
	}
	return b.text(), nil
}

func documentText(h rag.KBHit) string {
	head := fmt.Sprintf("score %.2f  ", h.Score)
	if len(h.Metadata) > 0 {
		if data, err := json.Marshal(h.Metadata); err == nil {
			head += string(data) + "  "
		}
	}
	head += h.DocumentID
	var b strings.Builder
	for _, p := range h.Passages {
		fmt.Fprintf(&b, "%s:%d-%d\n%s\n\n", head, p.Start, p.End, p.Text)
		head = h.DocumentID // print the score and metadata only once
	}
	return b.String()
}

var kbListTool = mcp.NewTool("kb_list",
	mcp.WithDescription("List the documents of the knowledge base: IDs, lengths, the files that they are from, and beginnings."),
	budgeted, reading,
)

func (t sessionTools) list(_ context.Context, r mcp.CallToolRequest) (string, error) {
	documents, err := t.service.Documents(t.session)
	if err != nil {
		return "", err
	}
	if len(documents) == 0 {
		return "The knowledge base is empty.", nil
	}
	b := newBudget(r.GetInt("maxTokens", 0))
	b.begin(visible.Count(len(documents), "document") + "\n")
	for _, d := range documents {
		b.add(fmt.Sprintf("%s  %d characters  %s%q\n", d.DocumentID, d.Length, origin(d.Metadata), d.Preview))
	}
	return b.text(), nil
}

// origin returns the file that a document is from, with blanks after it, or "".
func origin(metadata map[string]string) string {
	path := metadata[rag.PathKey]
	if path == "" {
		return ""
	}
	return tools.Visible(path) + "  "
}

var kbRemoveTool = mcp.NewTool("kb_remove",
	mcp.WithDescription("Remove a document from the knowledge base."),
	mcp.WithString("documentId", mcp.Required(), mcp.Description("Its ID, as kb_add or kb_list gave it")),
	writing(true),
)

func (t sessionTools) remove(ctx context.Context, r mcp.CallToolRequest) (string, error) {
	id, err := r.RequireString("documentId")
	if err != nil {
		return "", err
	}
	found, err := t.service.RemoveDocument(ctx, t.session, id)
	switch {
	case err != nil:
		return "", err
	case !found:
		return "", fmt.Errorf("there is no document %q", id)
	}
	return "Removed.", nil
}
