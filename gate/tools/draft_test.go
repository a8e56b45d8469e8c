package tools

import (
	"slices"
	"testing"

	"encoding/json"
)

func TestDraft(t *testing.T) {
	for _, c := range []struct {
		name, annotations string
		arguments         []string
		effect            string
		destination       []string
		content           []string
		sure              bool
	}{
		{"send_message", `{}`, []string{"recipient", "message"}, EffectOutside, []string{"recipient"}, []string{"message"}, true},
		{"sendMessage", `{"readOnlyHint":true}`, []string{"chatId", "text"}, EffectOutside, []string{"chatId"}, []string{"text"}, true},
		{"list_messages", `{}`, []string{"channel"}, EffectNone, nil, nil, false},
		{"search_and_forward", `{}`, []string{"query", "to"}, EffectOutside, []string{"to"}, []string{"query"}, true},
		{"get_order_and_items", `{}`, []string{"id"}, EffectNone, nil, nil, false},
		{"get_payment", `{}`, []string{"id"}, EffectNone, nil, nil, false},
		{"get_payment", `{"readOnlyHint":false}`, []string{"id"}, EffectMoney, nil, nil, true},
		{"create_refund", `{}`, []string{"payment", "amount"}, EffectMoney, nil, nil, true},
		{"delete_page", `{}`, []string{"id"}, EffectDeletes, nil, nil, true},
		{"share_file", `{}`, []string{"file_id", "email"}, EffectAccess, []string{"email"}, []string{"file_id"}, true},
		{"update_row", `{"openWorldHint":false}`, []string{"id", "values"}, EffectOwn, nil, []string{"values"}, false},
		{"update_row", `{}`, []string{"id", "values"}, EffectOutside, nil, []string{"values"}, false},
		{"frobnicate", `{}`, nil, EffectOutside, nil, nil, false},
		{"frobnicate", `{"readOnlyHint":true}`, nil, EffectNone, nil, nil, false},
		{"frobnicate", `{"destructiveHint":true}`, nil, EffectDeletes, nil, nil, false},
	} {
		properties := map[string]any{}
		for _, a := range c.arguments {
			properties[a] = map[string]any{}
		}
		definition, err := json.Marshal(map[string]any{"name": c.name, "annotations": json.RawMessage(c.annotations), "inputSchema": map[string]any{"properties": properties}})
		if err != nil {
			t.Fatal(err)
		}
		tool := Describe(Server{Name: "s"}, c.name, "s_"+c.name, definition)
		got := tool.Draft()
		if got.Effect != c.effect || !slices.Equal(got.Destination, c.destination) || !slices.Equal(got.Content, c.content) {
			t.Errorf("%s %s: %+v", c.name, c.annotations, got)
		}
		if _, sure := tool.Suspected(); sure != c.sure {
			t.Errorf("%s %s: suspected %v", c.name, c.annotations, sure)
		}
		if tool.Labels.Effect != "" {
			t.Errorf("%s: the draft is in force", c.name)
		}
	}
	// If the name says nothing, the description may say that the tool only answers.
	for description, effect := range map[string]string{"Returns the prices of hotels.": EffectNone, "Lists hotels.": EffectNone, "Books a hotel and returns its name.": EffectOutside, "": EffectOutside} {
		definition, _ := json.Marshal(map[string]any{"name": "hotel_prices", "description": description})
		if got := Describe(Server{Name: "s"}, "hotel_prices", "s_hotel_prices", definition).Draft(); got.Effect != effect {
			t.Errorf("%q: %+v", description, got)
		}
	}
}
