// The token that every request needs. The first address contains it; then it is stored for this
// origin, not in a cookie: browsers send cookies to all ports of a host.

const KEY = "mercer-token";
let token = "";

/** Read the token from the address, or else from the storage; remove it from the address. */
export function readToken(storage = () => localStorage) {
  const query = new URLSearchParams(location.search);
  token = query.get("token") ?? "";
  if (token) {
    query.delete("token");
    history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
  }
  try {
    if (token) storage().setItem(KEY, token);
    else token = storage().getItem(KEY) ?? "";
  } catch {
    // storage is disabled: the token holds until the page is reloaded
  }
}

export const authorization = () => `Bearer ${token}`;
