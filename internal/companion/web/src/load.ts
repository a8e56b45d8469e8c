import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { message, type Store } from "./store";

// Loaded is the last answer of a path.
export interface Loaded<T> {
  data: T | null;
  trouble: string;
  again(): void;
}

// useLoaded reads a path once there is a connection, and again every period while the page is visible; 0 means once. It
// drops late answers for a path that is no longer shown.
export function useLoaded<T>(store: Store, path: string, period = 0): Loaded<T> {
  const [data, setData] = useState<T | null>(null);
  const [trouble, setTrouble] = useState("");
  const shown = useRef(path);
  shown.current = path;
  const again = useCallback(() => {
    store.get<T>(path).then(
      (found) => {
        if (shown.current !== path) return;
        setData(found);
        setTrouble("");
      },
      (error: unknown) => shown.current === path && setTrouble(message(error)),
    );
  }, [store, path]);
  useEffect(() => setData(null), [again]);
  useEffect(() => {
    if (store.open) again();
  }, [again, store.open]);
  useEffect(() => {
    if (period === 0) return;
    const timer = setInterval(() => !document.hidden && again(), period);
    return () => clearInterval(timer);
  }, [again, period]);
  return { data, trouble, again };
}
