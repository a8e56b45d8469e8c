package desktop

var program = []string{
	"osascript", "-e",
	`display notification (system attribute "CALLGATE_TEXT") with title "callgate" subtitle (system attribute "CALLGATE_TITLE")`,
}
