// Arrays that another component draws and that seldom change: small maps of all heads, while one head after the other
// is chosen. Streamlit sends a message that the browser has already by its number alone.

class StoreView {
  constructor(parent) {
    this.parent = parent;
    this.root = make("div", { class: "enc-store" });
    parent.append(this.root);
  }

  update(component) {
    const { header, arrays } = unpack(component.data);
    if (this.name !== header.name) this.destroy();
    this.name = header.name;
    this.entry = { digest: header.digest, arrays };
    stored.set(header.name, this.entry);
    window.dispatchEvent(new CustomEvent("enc-stored", { detail: header.name }));
  }

  destroy() {
    if (stored.get(this.name) === this.entry) stored.delete(this.name);   // and not what another has brought since
  }
}

export default mounted(StoreView);
