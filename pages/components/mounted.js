// How Streamlit runs a drawing.

// Streamlit calls a component's function whenever its data or the theme changes, and the returned function when the
// element is removed. Each element has one object in between.
export function mounted(View) {
  const views = new WeakMap();
  return (component) => {
    const parent = component.parentElement;
    if (!views.has(parent)) views.set(parent, new View(parent));
    views.get(parent).update(component);
    return () => {
      views.get(parent)?.destroy();
      views.delete(parent);
    };
  };
}
