import { render } from "preact";
import { App } from "./app";
import { Store } from "./store";

const root = document.getElementById("app");
if (root) render(<App store={new Store()} />, root);
