// How Streamlit runs a drawing.

// Streamlit calls a component's function whenever its data or the theme changes. It calls the returned function when the
// element is removed, and also when newer data came before the call's own module was there: then the drawing, its focus
// and what the reader chose in it stay. Each element has one object in between.
export function mounted(View) {
  const views = new WeakMap();
  return (component) => {
    const parent = component.parentElement;
    if (!views.has(parent)) views.set(parent, new View(parent));
    views.get(parent).update(component);
    return () => {
      if (parent.isConnected) return;
      views.get(parent)?.destroy();
      views.delete(parent);
    };
  };
}
